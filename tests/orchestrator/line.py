"""A real orchestrator on the real broker and Spark, in a thread of its own, and what its users do and see."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any

from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from pointsman.app import run_orchestrator
from pointsman.broker import clients
from pointsman.broker.newest import newest_catalog
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import Generation
from pointsman.pipeline.checkpoints import SparkCheckpoints
from pointsman.pipeline.engine import SparkEngine
from pointsman.settings import Settings
from tests.pipeline.conftest import Bench
from tests.pipeline.feed import Sendable
from tests.pipeline.oracle import final_rows
from tests.tables.stage import eventually

SECONDS = 90.0


@dataclass(frozen=True)
class Pair:
    """A users and an accounts topic."""

    users: str
    accounts: str

    @property
    def wish(self) -> dict[str, str]:
        """What a control message says to have these topics joined."""
        return {"usersTopic": self.users, "accountsTopic": self.accounts}

    def topic(self, source: str) -> str:
        return self.users if source == "users" else self.accounts


class Line:
    """Inside `with` it runs; leaving ends it, and none of its queries runs any more."""

    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self.settings, self.spark = settings, spark
        self.admin = TopicAdmin(settings)
        self.admin.ensure(fixed_topics(settings))
        self.bench = Bench(settings, self.admin, clients.producer(settings.kafka, **{"linger.ms": 0}), spark)
        self.bench.make_topics(1)
        self._verdicts: dict[int, list[dict[str, Any]]] = {}
        self._tail = Tail(settings.kafka, self.admin.start_offsets([settings.names.verdicts]))
        self._asked = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="orchestrator", daemon=True)

    def _run(self) -> None:
        engine = SparkEngine(self.spark, self.settings, self.admin)
        checkpoints = SparkCheckpoints(self.spark, self.settings)
        try:
            run_orchestrator(self.settings, self.admin, engine, checkpoints, asked=self._asked, on_ready=lambda: None)
        except BaseException as error:  # noqa: BLE001 the test must hear of it, whatever it is
            self._failure = error

    # What its users do

    def pair(self, name: str, partitions: int = 1) -> Pair:
        """Two new topics."""
        here = self.settings.sources
        made = Pair(f"{here['users'].topic}.{name}", f"{here['accounts'].topic}.{name}")
        kept = {"retention.ms": "-1"}  # the feed's records are years old, and would be gone in minutes
        self.admin.ensure([TopicPlan(topic, partitions, kept) for topic in (made.users, made.accounts)])
        return made

    def feed(self, pair: Pair, rows: Iterable[Sendable]) -> None:
        """All of it is in the topics when this returns."""
        for source, partition, key, value, ts in rows:
            self.bench.producer.produce(pair.topic(source), value, key, partition=partition or 0, timestamp=ts)
            self.bench.producer.poll(0)
        assert self.bench.producer.flush(30) == 0

    def send(self, *values: bytes) -> list[int]:
        """Control messages, as fast as they go; their offsets."""
        offsets: list[int] = []
        for value in values:
            self.bench.producer.produce(
                self.settings.control.topic, value, on_delivery=lambda _, message: offsets.append(message.offset())
            )
        assert self.bench.producer.flush(30) == 0
        return offsets

    def ask(self, **fields: Any) -> dict[str, Any]:
        """Sends a control message, and returns its verdict."""
        [offset] = self.send(json.dumps(fields).encode())
        return self.verdict(offset)

    def switch(self, pair: Pair, join: str) -> Generation:
        """Asks for these topics and this join, and returns the generation that is then live."""
        verdict = self.ask(**pair.wish, joinType=join)
        assert verdict["verdict"] == "applied", verdict
        live = self.live()
        assert live.number == verdict["generation"]
        return live

    # What they see

    def verdict(self, offset: int, seconds: float = SECONDS) -> dict[str, Any]:
        """The one verdict of the message at this offset."""
        eventually(lambda: self.verdicts().get(offset), seconds=seconds)
        [verdict] = self._verdicts[offset]
        return verdict

    def verdicts(self) -> dict[int, list[dict[str, Any]]]:
        """By offset, all that have come until now."""
        assert self._failure is None, self._failure
        for *_, value in self._tail.poll(0.05):
            verdict = json.loads(value or b"{}")
            self._verdicts.setdefault(verdict["offset"], []).append(verdict)
        return self._verdicts

    def catalog(self) -> Catalog:
        assert self._failure is None, self._failure
        return newest_catalog(self.settings, self.admin) or Catalog()

    def live(self) -> Generation:
        live = eventually(lambda: self.catalog().live_generation, seconds=SECONDS)
        assert live is not None
        return live

    def rests(self) -> Catalog:
        """The catalog once nothing lingers, leaves or is built any more."""
        return eventually(self.catalog, lambda c: c.live is not None and set(c.generations) == {c.live}, SECONDS)

    def comes_to_equal_the_oracle(self, generation: Generation) -> dict[str, dict[str, Any]]:
        """With nobody writing to its sources any more; the rows."""
        sources = generation.spec.sources
        records = [r for s in sources for r in self.bench._records_of(s.name, s.topic)]
        expected = final_rows(records, generation.spec)
        return eventually(lambda: self.bench.final(generation), lambda found: found == expected, 30)

    def __enter__(self) -> Line:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asked.set()
        self._thread.join(60)
        self._tail.close()
        assert not self._thread.is_alive(), "the orchestrator does not end"


class Writer:
    """Inside `with`, rows are written to every pair, at a steady rate; leaving, all of them are in the topics."""

    def __init__(self, line: Line, pairs: Iterable[Pair], rows: Iterator[Sendable], per_second: float) -> None:
        self._line, self._pairs, self._rows, self._pause = line, list(pairs), rows, 1 / per_second
        self._producer = clients.producer(line.settings.kafka, **{"linger.ms": 0})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        due = time.monotonic()
        for source, partition, key, value, ts in self._rows:
            for pair in self._pairs:
                self._producer.produce(pair.topic(source), value, key, partition=partition or 0, timestamp=ts)
            self._producer.poll(0)
            due += self._pause
            if self._over.wait(max(0.0, due - time.monotonic())):
                return

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(10)
        assert self._producer.flush(30) == 0


class Watch:
    """Inside `with`, notes the moment at which each record of a topic comes, from now on."""

    def __init__(self, line: Line, topic: str) -> None:
        self.moments: list[float] = []
        ends = line.admin.end_offsets([topic])[topic]
        places = [TopicPartition(topic, p, end) for p, end in ends.items()]
        self._consumer = clients.assigned_consumer(line.settings.kafka, places, **{"fetch.wait.max.ms": 5})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        while not self._over.is_set():
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                self.moments.append(time.monotonic())

    def silences(self, start: float, end: float) -> list[float]:
        """Seconds between one record and the next, in this span of time, in order of length."""
        inside = [start, *(m for m in self.moments if start <= m <= end), end]
        return sorted(b - a for a, b in pairwise(inside))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(10)
        self._consumer.close()
