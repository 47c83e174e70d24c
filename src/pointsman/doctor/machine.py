"""This machine: Java, jars, the page, room on the disk, ports."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pointsman.broker import java
from pointsman.broker.embedded import answers
from pointsman.doctor import findings
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import EnvironmentProblem
from pointsman.fleet import ports
from pointsman.fleet.claims import Claims
from pointsman.fleet.launch import LOOPBACK
from pointsman.listening import is_free
from pointsman.settings import Settings

ROOM_BYTES, LITTLE_BYTES = 200 * 2**20, 2 * 2**30  # below the first nothing runs for long
PAGE = Path(__file__).parents[1] / "web" / "page" / "index.html"


def examine(settings: Settings, needs_broker: bool) -> Iterator[Finding]:
    yield _java()
    yield from (_jars(kind) for kind in ("spark", "broker") if kind == "spark" or needs_broker)
    yield _page()
    yield _disk(settings.home)
    if needs_broker:
        port = int(settings.kafka.bootstrap_servers.rpartition(":")[2])
        kafka = f"a Kafka broker answers on {LOOPBACK}:{port}"
        yield _port("broker port", LOOPBACK, port, lambda: kafka if answers(f"{LOOPBACK}:{port}") else "")
    yield _port("tables port", settings.tables.host, settings.tables.port, lambda: _ours(settings, "tables"))
    yield _port("page port", settings.web.host, settings.web.port, lambda: _ours(settings, "web"))


def _ours(settings: Settings, role: str) -> str:
    holder = Claims(settings.home).holder(role)
    return f"`pointsman up` runs the {role} there, under process {holder.pid}" if holder else ""


def _java() -> Finding:
    try:
        return findings.ok("java", java.java_command())
    except EnvironmentProblem as error:
        return findings.of("java", error)


def _jars(kind: str) -> Finding:
    try:
        folder = java.jars(kind)
    except EnvironmentProblem as error:
        return findings.of(f"{kind} jars", error)
    return findings.ok(f"{kind} jars", f"{len(list(folder.glob('*.jar')))} in {folder}")


def _page() -> Finding:
    if PAGE.is_file():
        return findings.ok("page", "built")
    return findings.warning("page", "is not built: `pointsman web` has an API and no page", "run `make page`")


def _disk(home: Path) -> Finding:
    place = home.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    says = f"{free / 2**30:.1f} GiB free for {home}"
    if free < ROOM_BYTES:
        return findings.problem("disk", says, "free some, or set home to a folder on another disk")
    if free < LITTLE_BYTES:
        return findings.warning("disk", says, "checkpoints and changelogs grow: free some, or set home elsewhere")
    return findings.ok("disk", says)


def _port(check: str, host: str, port: int, ours: Callable[[], str]) -> Finding:
    """`ours` says who of us is there; nothing where it is somebody else."""
    if is_free(host, port):
        return findings.ok(check, f"{host}:{port} is free")
    if said := ours():
        return findings.ok(check, said)
    says = f"{host}:{port} is taken by {ports.holder(port)}"
    return findings.warning(check, says, "fine if that is Pointsman; otherwise end it, or set another port")
