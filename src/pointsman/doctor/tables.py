"""The tables server as a viewer meets it: its certificate, its key, its rows, its console."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pointsman.doctor import certificates, findings
from pointsman.doctor.certificates import Certificate
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import TablesError
from pointsman.fleet.launch import LOOPBACK
from pointsman.listening import is_free
from pointsman.settings import Settings

SOON_DAYS = 14


def examine(settings: Settings) -> Iterator[Finding]:
    host, port = LOOPBACK if settings.tables.host in ("0.0.0.0", "::") else settings.tables.host, settings.tables.port
    if is_free(settings.tables.host, port):
        yield findings.warning("tables", f"no tables server runs on {host}:{port}", "start one with `pointsman up`")
        return
    certificate = None
    if settings.tables.scheme == "https":
        seen = certificates.seen(host, port, _name(settings, host), settings.tables.tls_ca)
        yield _judged(seen, settings)
        if not isinstance(seen, Certificate):
            return
        certificate = seen
    key = settings.tables.key.get_secret_value() or _kept(settings.home)
    if not key:
        yield findings.warning(
            "tables", f"something answers on {host}:{port}; without its key we cannot look", "set POINTSMAN_TABLES__KEY"
        )
        return
    yield from _looked_at(settings, host, port, key, certificate)


def _looked_at(
    settings: Settings, host: str, port: int, key: str, certificate: Certificate | None
) -> Iterator[Finding]:
    from pointsman.tables.viewing import Tls, Viewer

    tls = Tls(certificates.trusted(settings.tables.tls_ca), certificate.acceptable) if certificate else None
    try:
        with Viewer(host, port, key, tls) as viewer:
            seen = viewer.see("final_ui")
            how = " by https" if tls else ""
            yield findings.ok("tables", f"{host}:{port} answers{how}; final_ui has {seen.rows} rows")
            yield _console(settings, viewer.console_is_off())
    except TablesError as error:
        yield findings.of("tables", error)


def _name(settings: Settings, host: str) -> str:
    """By which browsers come: the page sends them there."""
    return urlsplit(settings.web.tables_url).hostname or host


def _judged(seen: Certificate | str, settings: Settings) -> Finding:
    check = "tables certificate"
    if not isinstance(seen, Certificate):
        step = "set tables.tls_ca to the PEM file of the authority that signed it; browsers must trust that, too"
        if "expired" in seen or "not yet valid" in seen:
            step = "have it renewed, or set this machine's clock"
        return findings.problem(check, f"is not accepted here: {seen}", step)
    names = ", ".join(seen.names)
    if not seen.fits:
        says = f"is for {names}, and browsers are sent to {seen.wanted}: they will not accept it"
        step = f"set web.tables_url to https://{seen.acceptable}:{settings.tables.port}, or have that name added"
        return findings.problem(check, says, step)
    days = (seen.ends - time.time()) / 86_400
    if days < SOON_DAYS:
        return findings.warning(check, f"is for {names}, and ends in {days:.0f} days", "have it renewed")
    return findings.ok(check, f"is for {names}, for {days:.0f} more days")


def _console(settings: Settings, off: bool) -> Finding:
    if off:
        return findings.ok("console", "off: viewers cannot run code on the server")
    says = "on: whoever has the viewers' key can run code on that machine"
    step = "set tables.console = false" if settings.tables.console else "end it, and start it with `pointsman up`"
    return findings.warning("console", says, step)


def _kept(home: Path) -> str:
    file = home / "keys" / "viewer"
    return file.read_text().strip() if file.is_file() else ""
