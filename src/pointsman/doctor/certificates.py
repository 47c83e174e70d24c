"""The certificate of a server of ours, as a client that checks it sees it."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 5.0


@dataclass(frozen=True)
class Certificate:
    """One that is signed by an authority that is trusted here, and is valid today."""

    names: tuple[str, ...]  # that it is for; never empty
    wanted: str  # the name by which clients come
    fits: bool  # whether it is for that one, too
    ends: float  # seconds since the epoch

    @property
    def acceptable(self) -> str:
        """A name that it is for."""
        return self.wanted if self.fits else self.names[0].replace("*", "any")


def seen(host: str, port: int, name: str, authority: str) -> Certificate | str:
    """What the server shows to who comes by this name; or why it is not to be trusted, in the TLS library's words.

    `authority` is a PEM file; empty: those of the system.
    """
    try:
        try:
            return _shaken(host, port, name, authority, True)
        except ssl.SSLCertVerificationError as error:
            if "mismatch" not in error.verify_message.lower():
                return error.verify_message
            return _shaken(host, port, name, authority, False)
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError as error:
        return getattr(error, "reason", None) or error.strerror or str(error) or type(error).__name__


def trusted(authority: str) -> bytes:
    """The authorities that are trusted, in PEM: of that file, or of the system, whose may be in as many files."""
    system = ssl.get_default_verify_paths()
    if place := authority or system.cafile:
        return Path(place).read_bytes()
    return b"\n".join(path.read_bytes() for path in sorted(Path(system.capath or ".").glob("*.pem")))


def _shaken(host: str, port: int, name: str, authority: str, check: bool) -> Certificate:
    context = ssl.create_default_context(cafile=authority or None)
    context.check_hostname = check
    with (
        socket.create_connection((host, port), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=name) as tls,
    ):
        told: dict[str, Any] = dict(tls.getpeercert() or {})
    names = tuple(value for kind, value in told.get("subjectAltName", ()) if kind in ("DNS", "IP Address"))
    return Certificate(names or (name,), name, check, float(ssl.cert_time_to_seconds(told["notAfter"])))
