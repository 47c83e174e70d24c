"""Who is measured: the pipeline, its micro-batch mode, native Deephaven, Flink. All answer the same questions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import TopicPartition

from benchmarks.child import Child, ChildFailed
from benchmarks.ground import SOURCES, Ground, Plot
from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.domain.progress import Phase

PEERS = Path("build/bench-peers")
START_SECONDS = 300.0
QUIET_SECONDS = 2.0
TAIL = 500_000  # rows in which the last record fed is looked for: two tasks may end far apart


class Contestant(Protocol):
    child: Child
    output: str | None  # the topic where its joined rows appear; None where they stay inside

    def drained(self, fed: int, seconds: float) -> float:
        """Waits until all records ever fed (this many) are in the result; the moment the last one was."""

    def close(self) -> None: ...


class Spark:
    """The pipeline process. Generations are numbered by who measures; `output` is the newest one's."""

    def __init__(self, ground: Ground, plot: Plot, partitions: int = 1) -> None:
        path = plot.folder / "settings.json"
        path.write_text(plot.settings.model_dump_json())
        command = [sys.executable, "-m", "benchmarks.spark_child", str(path), str(partitions * len(SOURCES))]
        self.plot = plot
        self.output: str | None = None
        self.began = time.time()
        self.child = ground.child(plot, command)
        self.child.await_open(START_SECONDS)
        self._views: list[str] = []
        self._alone = False

    def start(self, number: int, join_alone: bool = False) -> int:
        """Starts a generation; returns where its events begin."""
        generation = self.plot.generation(number)
        self.output, self._views, self._alone = generation.final, list(generation.views.values()), join_alone
        since = len(self.child.events)
        self.child.ask(do="start", number=number, only="join" if join_alone else None)
        return since

    def await_ready(self, since: int, seconds: float) -> dict[str, Any]:
        return self.child.wait_for("ready generation", lambda e: bool(e.get("ready")), seconds, since)

    def await_caught_up(self, since: int, seconds: float) -> float:
        """The moment the catch-up was over."""

        def is_real_time(event: dict[str, Any]) -> bool:
            return event.get("phase") == Phase.REAL_TIME.value

        return float(self.child.wait_for("end of the catch-up", is_real_time, seconds, since)["at"])

    def stop(self, number: int) -> None:
        since = len(self.child.events)
        self.child.ask(do="stop", number=number)
        self.child.wait_for("stopped", lambda e: e["event"] == "stopped", 90, since)

    def drained(self, fed: int, seconds: float) -> float:
        """Views and join both. A micro-batch writes in no order, so there the pipeline's own lag must tell."""
        assert self.output is not None
        output, real_time = self.output, self.plot.settings.pipeline.mode == "real-time"
        topics = [output] if self._alone else [output, *self._views]

        def done() -> bool:
            if not self._alone and self.plot.end(self._views) < fed:
                return False
            progress = self.child.last("progress")
            caught_up = progress is not None and progress.get("lag") == 0
            return shows_mark(self.plot, output, fed) if real_time else caught_up

        await_quiet(self.plot, topics, done, seconds, self.child)
        return last_stamp(self.plot, topics)

    def close(self) -> None:
        self.child.close()


class NativeDeephaven:
    def __init__(self, ground: Ground, plot: Plot, cycle_ms: int) -> None:
        options = {
            "port": free_port(),
            "cycle_ms": cycle_ms,
            "heap": "6g",
            "broker": plot.broker,
            **{s: plot.topic(s) for s in SOURCES},
        }
        self.output: str | None = None
        self._plot = plot
        self.child = ground.child(plot, [sys.executable, "-m", "benchmarks.deephaven_child", json.dumps(options)])
        self.child.await_open(START_SECONDS)

    def drained(self, fed: int, seconds: float) -> float:
        return float(self.child.wait_for("all rows", lambda e: e.get("count", 0) >= fed, seconds)["at"])

    def rejoin(self, users: str, accounts: str, fed: int, seconds: float) -> float:
        """Has it read and join these topics instead; seconds until all that was fed to them is in the join."""
        began, since = time.time(), len(self.child.events)
        self.child.ask(do="join", users=users, accounts=accounts)

        def all_there(event: dict[str, Any]) -> bool:
            return event.get("of") == users and event["count"] >= fed

        return float(self.child.wait_for("all rows again", all_there, seconds, since)["at"]) - began

    def probe(self) -> None:
        self.child.ask(do="probe")

    def seen(self) -> dict[int, float]:
        path = self._plot.folder / "seen.json"
        since = len(self.child.events)
        self.child.ask(do="seen", to=str(path))
        self.child.wait_for("sightings", lambda e: e["event"] == "written", 30, since)
        return {int(number): at for number, at in json.loads(path.read_text()).items()}

    def close(self) -> None:
        self.child.close()


@dataclass(frozen=True)
class FlinkTuning:
    """`short` buffers for latency; `large` ones are Flink's own defaults, with a producer that batches."""

    config: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)


SHORT_BUFFERS = FlinkTuning({"execution.buffer-timeout.interval": "2 ms"}, {"linger.ms": "0"})
LARGE_BUFFERS = FlinkTuning({}, {"linger.ms": "5", "compression.type": "lz4", "batch.size": "262144"})


class Flink:
    """A local Flink cluster in one process, with what RocksDB and the network need to be at their best on it."""

    def __init__(self, ground: Ground, plot: Plot, tuning: FlinkTuning) -> None:
        python, jars = PEERS / "venv/bin/python", sorted((PEERS / "jars").glob("flink-sql-connector-kafka-*.jar"))
        if not python.exists() or not jars:
            raise ChildFailed("Flink is not installed; run `make bench-peers`")
        self.output: str | None = plot.make_output("flink")
        folder = plot.folder.absolute()
        config = {
            "parallelism.default": "2",
            "pipeline.jars": jars[0].absolute().as_uri(),
            "state.backend.type": "rocksdb",
            "execution.checkpointing.interval": "60 s",
            "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
            "execution.checkpointing.incremental": "true",
            "heartbeat.timeout": "10 min",  # it is held while a wave is fed
            "taskmanager.memory.managed.size": "1 gb",
            "taskmanager.memory.network.min": "128 mb",
            "taskmanager.memory.network.max": "128 mb",
            "io.tmp.dirs": str(folder / "tmp"),
            **tuning.config,
        }
        options = {
            "broker": plot.broker,
            **{s: plot.topic(s) for s in SOURCES},
            "output": self.output,
            "config": config,
            "producer": dict(tuning.producer),
        }
        script = str(Path(__file__).with_name("flink_child.py"))
        env = {"JVM_ARGS": "-Xmx2g", "FLINK_LOG_DIR": str(folder)}
        (folder / "tmp").mkdir()
        self._plot = plot
        self.child = ground.child(plot, [str(python), script, json.dumps(options)], env)
        self.child.await_open(START_SECONDS)

    def drained(self, fed: int, seconds: float) -> float:
        assert self.output is not None
        output = self.output
        await_quiet(self._plot, [output], lambda: shows_mark(self._plot, output, fed), seconds, self.child)
        return last_stamp(self._plot, [output])

    def close(self) -> None:
        self.child.close()


def await_quiet(plot: Plot, topics: list[str], done: Callable[[], bool], seconds: float, child: Child) -> None:
    """Returns when `done` and, for a while, nothing has been written to these topics."""
    deadline = time.monotonic() + seconds
    end, since = -1, time.monotonic()
    while True:
        now, found = time.monotonic(), plot.end(topics)
        if found != end:
            end, since = found, now
        elif now - since >= QUIET_SECONDS and done():
            return
        if now > deadline:
            raise ChildFailed(f"not drained within {seconds:.0f} s, at {end:,} records; see {child.log}")
        time.sleep(0.1)


def last_stamp(plot: Plot, topics: list[str]) -> float:
    """When the broker appended the newest record of these topics."""
    return float(max(message.timestamp()[1] for message in newest(plot, topics, 1))) / 1000


def shows_mark(plot: Plot, topic: str, fed: int) -> bool:
    """Does one of the newest rows show the last user and the last account that were fed?"""
    mark = str(-fed).encode()
    rows = (json.loads(m.value()) for m in newest(plot, [topic], TAIL) if m.value() and mark in m.value())
    return any(row.get("age") == -fed and row.get("balance") == -fed for row in rows)


def newest(plot: Plot, topics: list[str], count: int) -> list[Any]:
    """The last messages of every partition."""
    ends = {(t, p): end for t, offsets in plot.admin.end_offsets(topics).items() for p, end in offsets.items() if end}
    places = [TopicPartition(t, p, max(0, end - count)) for (t, p), end in ends.items()]
    consumer = clients.assigned_consumer(plot.settings.kafka, places)
    found, deadline = [], time.monotonic() + 20
    try:
        while ends and time.monotonic() < deadline:
            for message in clients.messages(consumer, 0.2):
                found.append(message)
                if message.offset() + 1 >= ends.get((message.topic(), message.partition()), 0):
                    ends.pop((message.topic(), message.partition()), None)
    finally:
        consumer.close()
    return found
