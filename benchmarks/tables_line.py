"""Record produced → visible to a viewer in a browser: the whole line, and the join inside Deephaven beside it."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import psutil
from tests.tables.stage import KEY_OF_VIEWERS, Pipeline, TablesProcess, eventually

from benchmarks.feed import PROBE, USUAL, Probes, pace
from benchmarks.figures import Latency, latency
from benchmarks.ground import SOURCES, Ground, Plot
from benchmarks.report import NATIVE, Report
from benchmarks.sizes import Sizes
from benchmarks.tables_crowd import Crowd
from benchmarks.tables_promises import FROM_CHANGELOG, LINE, VIEWERS, cycle_part, viewers_name
from benchmarks.tables_viewers import Onlookers, Window
from pointsman.broker import clients
from pointsman.broker.embedded import free_port

POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
FINAL = "a/kafka-orchestrator/f/final_ui"
GRID_MS = 100  # how often the page's own grids ask to be updated
SETTLE_SECONDS = 5.0  # a server that is warm, and has got more viewers or another feed
UNTUNED = {"JAVA_TOOL_OPTIONS": "", "POINTSMAN_TABLES__HEAP": "4g"}  # not what tests tell the server to start sooner


@contextmanager
def process(plot: Plot, verb: str, **env: str) -> Iterator[TablesProcess]:
    """`pointsman <verb>` with this plot's topics; ended on leaving."""
    topics = {f"POINTSMAN_SOURCES__{s.upper()}__TOPIC": plot.topic(s) for s in SOURCES}
    started = TablesProcess(plot.settings, plot.folder.absolute(), [POINTSMAN, verb], {**topics, **UNTUNED, **env})
    try:
        yield started
        started.stop()  # politely: a server that says no goodbye on its topic is still counted there
    finally:
        started.kill()


@contextmanager
def tables(plot: Plot, cycle_ms: int, **env: str) -> Iterator[tuple[TablesProcess, Window]]:
    """A tables server that answers, and where its joined table is."""
    with process(plot, "tables", POINTSMAN_TABLES__CYCLE_MS=str(cycle_ms), **env) as server:
        yield server, Window(server.await_ready(), FINAL, KEY_OF_VIEWERS)


def await_shown(pipeline: Pipeline, number: int, seconds: float) -> None:
    """Until the one tables server says that it shows this generation."""
    eventually(lambda: [s["shows"] for s in pipeline.servers().values()], lambda found: found == [number], seconds)


class Feed(Protocol):
    """Numbered records at a steady rate, numbered through over all measurements of a plot: a row of an earlier one is
    no sighting."""

    sent: dict[int, float]

    def send(self, rate: float, seconds: float) -> float:
        """Returns when it began."""


class Rows:
    """A feed of joined rows, written to the final changelog as the pipeline writes them."""

    FIRST = 1_000_000_000  # far from the numbers of the records that the pipeline is fed with

    def __init__(self, plot: Plot, topic: str, keys: int) -> None:
        self.sent: dict[int, float] = {}
        self._producer = clients.producer(plot.settings.kafka, **{"linger.ms": 1})
        self._topic, self._keys = topic, keys
        self._rng = random.Random(8)

    def send(self, rate: float, seconds: float) -> float:
        began = time.time()
        for _ in pace(rate, seconds):
            number = self.FIRST + len(self.sent)
            key = f"r{self._rng.randrange(self._keys)}"
            value = joined(key, PROBE + number, round(time.time() * 1000), version=number)
            self.sent[number] = time.time()
            self._producer.produce(self._topic, value, key.encode())
            self._producer.poll(0)
        self._producer.flush(30)
        return began


def joined(key: str, age: int, ts: int, version: int) -> bytes:
    """A row of a final changelog."""
    return (
        f'{{"userId":"{key}","name":"name of {key}","email":"user{key}@example.org","age":{age},'
        f'"accountType":"checking","balance":{version % 5000}.25,"_op":"u","_ts":{ts},'
        f'"_version":{version},"_from":"users-0-0"}}'
    ).encode()


def watched(
    feed: Feed, eyes: Onlookers, cpu_seconds: Callable[[], float], rate: float, warm_up: float, seconds: float
) -> tuple[Latency, float]:
    """Latency after the warm-up, and the cores that the server used meanwhile."""
    marks = [0.0, 0.0]
    # Read from beside: the sender must not wait for it.
    timer = threading.Timer(warm_up, lambda: marks.__setitem__(0, cpu_seconds()))
    timer.start()
    began = feed.send(rate, warm_up + seconds)
    marks[1] = cpu_seconds()
    timer.join()
    newest, deadline = max(feed.sent), time.monotonic() + 10
    while newest not in (seen := eyes.seen()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return latency(feed.sent, seen, began + warm_up), (marks[1] - marks[0]) / seconds


def measure_line(ground: Ground, sizes: Sizes, report: Report) -> None:
    """One pipeline; for every cycle a tables server of its own. The last of them gets more and more viewers.

    Each is counted for as long as checkpoints are apart: one falls into it, no more and no less.
    """
    plot = ground.plot("tables-line")
    played, records = Pipeline(plot.settings), Probes(plot, sizes.probe_keys, USUAL)
    rows = Rows(plot, plot.settings.names.final(1), sizes.probe_keys)
    with process(plot, "pipeline"):
        records.send(sizes.rate, sizes.line_warm_up)
        for cycle in sizes.tables_cycles_ms:
            with tables(plot, cycle) as (server, window), Onlookers(plot.folder, window) as eyes:
                await_shown(played, 1, sizes.patience)
                cpu = cpu_of(server)
                eyes.watch(cycle)
                found = watched(records, eyes, cpu, sizes.rate, sizes.tables_warm_up, sizes.latency_seconds)
                add(report, cycle_part(cycle), LINE, *found)
                report.add(cycle_part(cycle), LINE, {"idle CPU": (idle(cpu, sizes.tables_idle), "cores")})
                alone = watched(rows, eyes, cpu, sizes.rate, SETTLE_SECONDS, sizes.tables_seconds / 2)
                add(report, cycle_part(cycle), FROM_CHANGELOG, *alone)
                if cycle == sizes.tables_cycles_ms[-1]:
                    with Crowd(window) as crowd:
                        measure_viewers(records, eyes, crowd, cpu, sizes, report)
    plot.clear()


def measure_viewers(
    records: Feed, eyes: Onlookers, crowd: Crowd, cpu: Callable[[], float], sizes: Sizes, report: Report
) -> None:
    there = 1  # the one that watches every row
    for count in sizes.tables_viewers:
        crowd.add(count - there, GRID_MS)
        there = count
        found = watched(records, eyes, cpu, sizes.rate, SETTLE_SECONDS, sizes.tables_seconds / 2)
        add(report, VIEWERS, viewers_name(count), *found)


def measure_native(ground: Ground, sizes: Sizes, report: Report) -> None:
    """The same records, the same viewer, no pipeline: both topics are joined in the Deephaven server."""
    for cycle in sizes.tables_cycles_ms:
        plot = ground.plot("tables-native")
        options: dict[str, Any] = {"port": free_port(), "cycle_ms": cycle, "heap": "4g", "watch": False}
        options |= {"broker": plot.broker, **{s: plot.topic(s) for s in SOURCES}}
        child = ground.child(plot, [sys.executable, "-m", "benchmarks.deephaven_child", json.dumps(options)])
        try:
            child.await_open(sizes.patience)
            window = Window(f"http://127.0.0.1:{options['port']}", "s/joined")
            with Onlookers(plot.folder, window) as eyes:
                eyes.watch(cycle)
                records, cpu = Probes(plot, sizes.probe_keys, USUAL), child.cpu_seconds
                found = watched(records, eyes, cpu, sizes.rate, sizes.tables_warm_up, sizes.tables_seconds)
                add(report, cycle_part(cycle), NATIVE, *found)
                report.add(cycle_part(cycle), NATIVE, {"idle CPU": (idle(cpu, sizes.tables_idle), "cores")})
        finally:
            child.close()
        plot.clear()


def cpu_of(server: TablesProcess) -> Callable[[], float]:
    def seconds() -> float:
        times = psutil.Process(server.process.pid).cpu_times()
        return float(times.user + times.system)

    return seconds


def idle(cpu_seconds: Callable[[], float], seconds: float) -> float:
    """Cores used while nothing is fed and one viewer looks."""
    before, used = time.monotonic(), cpu_seconds()
    time.sleep(seconds)
    return (cpu_seconds() - used) / (time.monotonic() - before)


def add(report: Report, part: str, system: str, found: Latency, cores: float) -> None:
    units = {"count": "records", "missing": "records"}
    figures = {name: (float(value), units.get(name, "ms")) for name, value in asdict(found).items()}
    report.add(part, system, {**figures, "CPU of the server": (cores, "cores")})
