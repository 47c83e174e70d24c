"""What a tables server does with many rows: reading them, switching them, letting go of them.

No pipeline: the changelogs and the catalog are written as the pipeline writes them.
"""

from __future__ import annotations

import signal
import statistics
import time
from functools import partial

from tests.tables.stage import Pipeline, eventually

from benchmarks.feed import send_all, shuffled
from benchmarks.ground import Ground, Plot
from benchmarks.report import Report
from benchmarks.sizes import Sizes
from benchmarks.tables_line import await_shown, joined, tables
from benchmarks.tables_promises import HEAP, LINE, READING, SWITCH
from benchmarks.tables_viewers import Onlookers

T0 = 1_700_000_000_000
Records = list[tuple[bytes, bytes]]


def many(rows: int) -> Records:
    """Joined rows of so many keys, in no order, ready to be written: making them takes longer than reading them."""
    return [(f"u{key}".encode(), joined(f"u{key}", at % 90, T0 + at, 1)) for at, key in enumerate(shuffled(rows, 1))]


def pour(plot: Plot, topic: str, records: Records) -> None:
    """All of them are in the broker when this returns."""
    send_all(plot, ((topic, key, value) for key, value in records))


def measure_reading_and_switching(ground: Ground, sizes: Sizes, report: Report) -> None:
    """Two generations of many rows: how fast each is read, then the time from catalog record to a viewer's screen."""
    plot = ground.plot("tables-switch")
    played, records = Pipeline(plot.settings), many(sizes.tables_rows)
    cycle = plot.settings.tables.cycle_ms
    pour(plot, played.build(1).final, records)
    played.publish(1)
    with tables(plot, cycle) as (server, window), Onlookers(plot.folder, window) as eyes:
        began = time.monotonic()
        await_shown(played, 1, sizes.patience)
        cold = len(records) / (time.monotonic() - began)
        server.signal(signal.SIGSTOP)  # writing must take no core from reading
        pour(plot, played.build(2).final, records)
        played.publish(2)
        began = time.monotonic()
        server.signal(signal.SIGCONT)
        await_shown(played, 2, sizes.patience)
        warm = len(records) / (time.monotonic() - began)
        report.add(READING, LINE, {"cold": (cold, "rec/s"), "warm": (warm, "rec/s")})
        report.add(READING, LINE, {"heap of two generations": (server.live_bytes() / 2**20, "MiB")})
        eyes.glance(cycle)
        eyes.await_generation(2, 0)
        took = []
        for turn in range(sizes.tables_switches):
            number = 1 + turn % 2
            catalog, since = played.with_live(number), len(eyes.child.events)
            began = time.time()
            played.say(catalog)
            took.append((eyes.await_generation(number, since) - began) * 1000)
    report.add(SWITCH, LINE, {"median": (statistics.median(took), "ms"), "longest": (max(took), "ms")})
    report.details["switches, ms"] = took
    plot.clear()


def measure_heap(ground: Ground, sizes: Sizes, report: Report) -> None:
    """Switch after switch, each to a new generation; the one before lingers, older ones are freed and forgotten."""
    plot = ground.plot("tables-heap")
    played, records = Pipeline(plot.settings), many(sizes.heap_rows)
    live = {}
    with tables(plot, plot.settings.tables.cycle_ms) as (server, _):
        for number in range(1, sizes.heap_switches + 1):
            pour(plot, played.build(number).final, records)
            played.publish(number)
            await_shown(played, number, sizes.patience)
            if number > 2:
                played.free(number - 2)
                eventually(partial(_loaded, played), lambda found: len(found) == 2, sizes.patience)
                played.forget(number - 2)
            if number in (5, sizes.heap_switches):
                live[number] = server.live_bytes()
    after_five, last = live[5], live[sizes.heap_switches]
    report.add(
        HEAP,
        LINE,
        {
            "after five switches": (after_five / 2**20, "MiB"),
            f"after {sizes.heap_switches}": (last / 2**20, "MiB"),
            "growth": (last / after_five, "×"),
        },
    )
    plot.clear()


def _loaded(played: Pipeline) -> list[int]:
    return next((s["loaded"] for s in played.servers().values()), [])
