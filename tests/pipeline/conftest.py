"""One Spark session for all pipeline tests, and a bench that feeds topics, runs a generation and reads it back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from pointsman import settings as settings_module
from pointsman.broker import clients
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics, generation_topics
from pointsman.domain.generation import Generation, State
from pointsman.domain.progress import Phase
from pointsman.pipeline.engine import SparkEngine
from pointsman.pipeline.session import open_session
from pointsman.settings import Settings
from tests.java import lend_to
from tests.pipeline.feed import Sendable
from tests.pipeline.oracle import Record


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("spark")
    lend_to(home)
    session = open_session(settings_module.load(env={}, flags={"home": str(home)}), source_partitions=6)
    yield session
    session.stop()


@dataclass
class Bench:
    """The topics of one test. Everything it starts ends with the test."""

    settings: Settings
    admin: TopicAdmin
    producer: Producer
    spark: SparkSession
    engines: list[SparkEngine] = field(default_factory=list)

    def make_topics(self, partitions: int = 3) -> None:
        self.admin.ensure(fixed_topics(self.settings))
        self.admin.ensure(
            [
                TopicPlan(s.topic, partitions, {"max.message.bytes": "4194304", "retention.ms": "-1"})
                for s in self.settings.sources.values()
            ]
        )

    def send(self, feed: Iterable[Sendable]) -> None:
        for source, partition, key, value, ts in feed:
            where = {} if partition is None else {"partition": partition}
            topic = self.settings.sources[source].topic
            self.producer.produce(topic, value=value, key=key, timestamp=ts, **where)
            self.producer.poll(0)
        assert self.producer.flush(30) == 0

    def generation(self, number: int = 1) -> Generation:
        spec, names = self.settings.spec(), self.settings.names
        generation = Generation(
            number=number,
            state=State.BUILDING,
            spec=spec,
            views={s.name: names.view(number, s.name) for s in spec.sources},
            final=names.final(number),
            checkpoint=f"{self.settings.checkpoints}/g{number}",
        )
        self.admin.ensure(generation_topics(generation, self.settings))
        return generation

    def engine(self) -> SparkEngine:
        engine = SparkEngine(self.spark, self.settings, self.admin)
        self.engines.append(engine)
        return engine

    def run_until_covered(self, generation: Generation, engine: SparkEngine | None = None) -> SparkEngine:
        """Runs it until everything now in the sources is in the output."""
        engine = engine or self.engine()
        engine.resume(generation)
        self.await_covered(generation, engine)
        return engine

    def await_covered(self, generation: Generation, engine: SparkEngine, seconds: float = 90) -> None:
        """Until all that is in the sources now is in the output."""
        sources = generation.spec.sources
        ends = self.admin.end_offsets([s.topic for s in sources])
        wanted = {s.name: ends[s.topic] for s in sources}
        deadline = time.monotonic() + seconds
        while True:
            progress, run = engine.progress(generation.number), engine.run(generation.number)
            if progress.ready and run is not None and run.ledger.covers(wanted):
                self._await_slower_partitions(generation)
                return
            assert progress.phase is not Phase.BROKEN, progress
            assert time.monotonic() < deadline, progress
            time.sleep(0.05)

    def _await_slower_partitions(self, generation: Generation) -> None:
        """The ledger knows the join's newest answer; the state's other partition may be still giving an older one."""
        ends: dict[str, dict[int, int]] = {}
        for _ in range(5):  # a source that is written to all the while never rests
            before, ends = ends, self.admin.end_offsets([generation.final])
            if ends == before:
                return
            time.sleep(0.1)

    def read(self, topics: Iterable[str]) -> list[tuple[str, int, int, bytes | None, bytes | None]]:
        """Every record of these topics up to their ends as of now."""
        ends, starts = self.admin.end_offsets(topics), self.admin.start_offsets(topics)
        with Tail(self.settings.kafka, starts) as tail:
            return list(tail.until(ends))

    def final(self, generation: Generation) -> dict[str, dict[str, Any]]:
        """What a reader that obeys `_version` shows in the end: row key → columns, `_ts`, `_version`."""
        shown: dict[str, dict[str, Any]] = {}
        for _, _, _, key, value in self.read([generation.final]):
            assert key is not None
            assert value is not None
            row = json.loads(value)
            name = key.decode()
            if name not in shown or row["_version"] >= shown[name]["_version"]:
                shown[name] = row
        kept = {name: row for name, row in shown.items() if row["_op"] == "u"}
        for row in kept.values():
            del row["_op"], row["_from"]
            if generation.spec.join == "asof":
                del row["_version"]
        return kept

    def records(self) -> list[Record]:
        """What is on the source topics, as a plain consumer reads it."""
        found = []
        for source in self.settings.spec().sources:
            found += self._records_of(source.name, source.topic)
        return found

    def _records_of(self, source: str, topic: str) -> list[Record]:
        ends, starts = self.admin.end_offsets([topic])[topic], self.admin.start_offsets([topic])[topic]
        left = {p for p, end in ends.items() if end > starts[p]}
        found = []
        consumer = clients.assigned_consumer(self.settings.kafka, [TopicPartition(topic, p, starts[p]) for p in ends])
        try:
            deadline = time.monotonic() + 60
            while left:
                assert time.monotonic() < deadline
                for m in clients.messages(consumer, 1):
                    found.append(Record(source, topic, m.partition(), m.offset(), m.timestamp()[1], m.key(), m.value()))
                    if m.offset() + 1 >= ends[m.partition()]:
                        left.discard(m.partition())
        finally:
            consumer.close()
        return found


@pytest.fixture
def bench(spark: SparkSession, live_settings: Settings) -> Iterator[Callable[..., Bench]]:
    """Makes benches; `bench(join={"type": "inner"})` changes settings."""
    made: list[Bench] = []

    def make(**flags: Any) -> Bench:
        data = live_settings.model_dump(mode="json")
        for section, values in flags.items():
            data[section] = {**data[section], **values} if isinstance(data.get(section), dict) else values
        changed = Settings.model_validate(data)
        one = Bench(
            changed, TopicAdmin(changed), clients.producer(changed.kafka, **{"message.max.bytes": 4_000_000}), spark
        )
        made.append(one)
        return one

    yield make
    for one in made:
        for engine in one.engines:
            engine.close()
