"""The tables server as a viewer meets it, and whether Spark has room for a generation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pointsman.broker import reach
from pointsman.broker.topics import TopicAdmin
from pointsman.doctor import findings
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import BrokerError, TablesError
from pointsman.fleet.launch import LOOPBACK
from pointsman.listening import is_free
from pointsman.pipeline import slots
from pointsman.settings import Settings


def examine(settings: Settings) -> Iterator[Finding]:
    yield from _tables(settings)
    yield _slots(settings)


def _tables(settings: Settings) -> Iterator[Finding]:
    host, port = LOOPBACK if settings.tables.host in ("0.0.0.0", "::") else settings.tables.host, settings.tables.port
    if is_free(settings.tables.host, port):
        yield findings.warning("tables", f"no tables server runs on {host}:{port}", "start one with `pointsman up`")
        return
    if settings.tables.scheme == "https":
        yield findings.skipped("tables", f"{host}:{port} answers by https, under the names in its certificate only")
        return
    key = settings.tables.key.get_secret_value() or _kept(settings.home)
    if not key:
        yield findings.warning(
            "tables", f"something answers on {host}:{port}; without its key we cannot look", "set POINTSMAN_TABLES__KEY"
        )
        return
    from pointsman.tables.viewing import Viewer

    try:
        with Viewer(host, port, key) as viewer:
            seen = viewer.see("final_ui")
            yield findings.ok("tables", f"{host}:{port} answers; final_ui has {seen.rows} rows")
            yield _console(settings, viewer.console_is_off())
    except TablesError as error:
        yield findings.of("tables", error)


def _console(settings: Settings, off: bool) -> Finding:
    if off:
        return findings.ok("console", "off: viewers cannot run code on the server")
    says = "on: whoever has the viewers' key can run code on that machine"
    step = "set tables.console = false" if settings.tables.console else "end it, and start it with `pointsman up`"
    return findings.warning("console", says, step)


def _kept(home: Path) -> str:
    file = home / "keys" / "viewer"
    return file.read_text().strip() if file.is_file() else ""


def _slots(settings: Settings) -> Finding:
    try:
        reach.require(settings)
        topics = TopicAdmin(settings).existing()
    except BrokerError:
        return findings.skipped("spark slots", "the broker does not say how many partitions there are")
    partitions = sum(topics.get(source.topic, 0) for source in settings.sources.values())
    state = settings.pipeline.shuffle_partitions
    wanted = slots.needed(partitions, state)
    master = settings.spark.master or slots.local_master(partitions, state)
    if settings.pipeline.mode == "micro-batch":
        return findings.ok("spark slots", f"{master}: micro-batches need no slot of their own")
    if not master.startswith("local["):
        says = f"{master}: a generation needs {wanted} slots, two while one replaces another"
        return findings.ok("spark slots", says)
    found = master.removeprefix("local[").partition("]")[0].partition(",")[0]
    if found.isdigit() and int(found) < 2 * wanted:
        says = f"{master} has room for {found} tasks; a generation needs {wanted}, and a switch has two of them"
        return findings.problem("spark slots", says, f"leave spark.master out, or set it to local[{4 * wanted}]")
    return findings.ok("spark slots", f"{master}: a generation needs {wanted}")
