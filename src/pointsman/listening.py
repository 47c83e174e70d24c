"""Before a process listens: is its port free, can its certificate be used? Said before anything else is started."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from pointsman.domain.errors import EnvironmentProblem


def is_free(host: str, port: int) -> bool:
    return _binding_fails(host, port) is None


def require_port(host: str, port: int, setting: str = "") -> None:
    """Raises EnvironmentProblem unless we may listen there; `setting` is the variable that says where."""
    if problem := _binding_fails(host, port):
        other = f" or {setting}" if setting else ""
        raise EnvironmentProblem(
            f"{host}:{port} cannot be bound: {problem.strerror}",
            f"end the program that holds it, or choose another with --port{other}",
        )


def require_certificate(section: str, certificate: str, key: str) -> None:
    """Raises EnvironmentProblem unless these files of `section` hold a certificate and its key; none is fine."""
    if not certificate:
        return
    for name, path in (("tls_certificate", certificate), ("tls_key", key)):
        try:
            Path(path).read_bytes()
        except OSError as error:
            raise EnvironmentProblem(
                f"{section}.{name}: {path} cannot be read: {error.strerror}",
                f"give the path of a PEM file that this user may read, as POINTSMAN_{section.upper()}__{name.upper()}",
            ) from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except ssl.SSLError as error:
        raise EnvironmentProblem(
            f"{section}.tls_certificate: {certificate} cannot be used with the key in {key}: {_words(error)}",
            "give a PEM file with the certificate first, and one with its key, not encrypted",
        ) from error


def _binding_fails(host: str, port: int) -> OSError | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error
    return None


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
