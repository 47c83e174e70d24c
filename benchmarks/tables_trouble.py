"""What a tables server survives, for as long as it lasts in life: a table that was open before goes on."""

from __future__ import annotations

import signal
import time

from tests.tables.stage import Pipeline, becomes, count, generations, viewer

from benchmarks.ground import Ground
from benchmarks.report import Report
from benchmarks.sizes import Sizes
from benchmarks.tables_line import await_shown, tables
from benchmarks.tables_promises import LINE, OUTAGE, PAUSE


def measure_pause(ground: Ground, sizes: Sizes, report: Report) -> None:
    """A server is stopped while a switch happens and what it shows is freed and deleted."""
    plot = ground.plot("tables-pause")
    played = Pipeline(plot.settings)
    played.fill(played.build(1), users=1_000)
    played.publish(1)
    with tables(plot, plot.settings.tables.cycle_ms) as (server, _):
        await_shown(played, 1, sizes.patience)
        with viewer(server.port) as client:
            held = client.open("final_ui")
            server.signal(signal.SIGSTOP)
            stopped = time.monotonic()
            played.fill(played.build(2), users=500)
            played.publish(2)
            played.free(1)
            played.forget(1)
            time.sleep(max(0.0, sizes.pause_seconds - (time.monotonic() - stopped)))
            server.signal(signal.SIGCONT)
            began = time.monotonic()
            becomes(lambda: (count(held), generations(held)), (500, {2}), sizes.patience)
            report.add(PAUSE, LINE, {"until the switch is seen": ((time.monotonic() - began) * 1000, "ms")})
    plot.clear()


def measure_outage(ground: Ground, sizes: Sizes, report: Report) -> None:
    """The broker goes and comes back; the rows stay meanwhile, and new ones come afterwards."""
    plot = ground.plot("tables-outage")
    played = Pipeline(plot.settings)
    generation = played.build(1)
    played.fill(generation, users=1_000)
    played.publish(1)
    with tables(plot, plot.settings.tables.cycle_ms) as (server, _):
        await_shown(played, 1, sizes.patience)
        with viewer(server.port) as client:
            held = client.open("final_ui")
            with ground.without_broker():
                gone = time.monotonic()
                while time.monotonic() < gone + sizes.outage_seconds:
                    becomes(lambda: count(held), 1_000, 0)
                    time.sleep(0.5)
            began = time.monotonic()
            played.fill(generation, users=10, first=1_000)
            becomes(lambda: count(held), 1_010, sizes.patience)
            report.add(OUTAGE, LINE, {"until new rows are seen": (time.monotonic() - began, "s")})
    plot.clear()
