"""The two streaming queries of one generation: *views* and *join*, from the same sources, each with its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pointsman.broker import security
from pointsman.broker.security import Role
from pointsman.broker.topics import largest_row
from pointsman.domain.generation import Generation
from pointsman.domain.spec import JoinType, Source
from pointsman.pipeline import aside, checkpoints, join, parsing, sql, tasks, views
from pointsman.settings import Settings

NAMES = ("views", "join")
CATCH_UP_PRODUCER = {"linger.ms": "5", "compression.type": "lz4", "batch.size": "262144"}
PARTITIONS_PER_LINGER_MS, MOST_LINGER_MS = 4, 10
VIEW_WAIT_MS_PER_PARTITION, MOST_VIEW_WAIT_MS = 8, 250
BUFFER_BYTES = 33_554_432  # as producers have it unless told otherwise
STAGGER = 1.3  # the views' checkpoints fall between the join's, so that one pause does not lengthen the other


class Pace(Enum):
    CATCH_UP = "catch-up"  # read all that is there, then end
    LIVE = "live"  # go on until stopped


@dataclass(frozen=True)
class Queries:
    """Starts queries; holds none. Both paces share a checkpoint, so live goes on where catch-up ended."""

    spark: SparkSession
    settings: Settings
    generation: Generation
    starts: Mapping[str, Mapping[int, int]]  # source → partition → first offset, the same for both queries
    is_new: bool = False  # nothing was read yet: the checkpoint is empty
    part: int = 0  # of a rehearsal: so many records of each source in a batch, if they are still there

    def start(self, name: str, pace: Pace, steps_aside: bool = False) -> StreamingQuery:
        settings = self.settings
        place = f"{self.generation.checkpoint}/{name}"
        checkpoints.forget_unfinished(self.spark, place)
        aside.let_go_first(self.spark, steps_aside)
        producer = CATCH_UP_PRODUCER if pace is Pace.CATCH_UP else self._live_producer
        largest = largest_row(self.generation, settings)
        writer = (
            self.plans[name]
            .writeStream.queryName(f"g{self.generation.number}-{name}")
            .format("kafka")
            .outputMode("update")
            .option("checkpointLocation", place)
            .option("kafka.max.request.size", str(largest))
            .option("kafka.buffer.memory", str(max(BUFFER_BYTES, largest)))
        )
        client = security.spark_options(settings.own_cluster, Role.OWN)
        for key, value in (client | {f"kafka.{k}": v for k, v in producer.items()}).items():
            writer = writer.option(key, value)
        if pace is Pace.CATCH_UP:
            return writer.trigger(availableNow=True).start()
        if settings.pipeline.mode == "micro-batch":
            return writer.trigger(processingTime=f"{settings.pipeline.microbatch_interval_ms} milliseconds").start()
        stagger = STAGGER if name == "views" else 1
        interval = f"{stagger * settings.pipeline.checkpoint_interval_seconds:g} seconds"
        return writer.trigger(realTime=interval).start()  # type: ignore[call-overload,no-any-return]

    def at_work(self, query: StreamingQuery) -> bool:
        """Whether what comes now is read at once, or in the next micro-batch."""
        if self.settings.pipeline.mode == "micro-batch":
            return bool(query.status["isTriggerActive"])
        return tasks.all_running(self.spark, query)

    def plan_again(self) -> list[str]:
        """What would run of each query, planned as a new batch is; nothing runs."""
        jvm = self.spark._jvm
        assert jvm is not None
        plans = self.plans.values()
        return [jvm.PythonSQLUtils.explainString(plan._jdf.queryExecution(), "simple") for plan in plans]

    @property
    def needs_catch_up(self) -> bool:
        """As-of must see every record on its own, and a catch-up pass folds those of one key into one."""
        return self.generation.spec.join is not JoinType.ASOF

    def _plan(self, name: str) -> DataFrame:
        settings, generation = self.settings, self.generation
        take = parsing.parse if name == "views" else parsing.joinable
        largest = settings.pipeline.max_value_bytes
        frames = {s.name: take(self._read(s, name), s, largest) for s in generation.spec.sources}
        if name == "views":
            return views.views(frames, generation, settings.names.dead_letters, settings.topics.changelog_partitions)
        return join.final(frames, generation.spec).selectExpr(f"{sql.text(generation.final)} AS topic", "*")

    def _read(self, source: Source, name: str) -> DataFrame:
        starts = self.starts.get(source.name)
        reader = (
            self.spark.readStream.format("kafka")
            .option("subscribe", source.topic)
            .option("startingOffsets", starting_offsets(source, starts))
            .option("failOnDataLoss", "true")
            .option("groupIdPrefix", f"{self.settings.kafka.group_prefix}spark")
            .option("kafka.isolation.level", "read_committed")
        )
        if self.part:
            reader = reader.option("maxOffsetsPerTrigger", self.part).option("failOnDataLoss", "false")
        if name == "views" and self.settings.pipeline.mode == "real-time":
            for key, value in self._unhurried.items():
                reader = reader.option(key, value)
        for key, value in security.spark_options(self.settings.kafka, Role.SOURCES).items():
            reader = reader.option(key, value)
        return reader.load()

    @property
    def _partitions(self) -> int:
        return sum(len(offsets) for offsets in self.starts.values())

    @property
    def _live_producer(self) -> Mapping[str, str]:
        """A record that goes alone costs a request: with many partitions, a few go together."""
        return {"linger.ms": str(min(MOST_LINGER_MS, max(1, self._partitions // PARTITIONS_PER_LINGER_MS)))}

    @property
    def _unhurried(self) -> Mapping[str, str]:
        """Every partition has a client of its own, and a record that comes alone costs it a request: where there are
        many, the views take several records at a time, and leave the cores to the join."""
        wait = min(MOST_VIEW_WAIT_MS, VIEW_WAIT_MS_PER_PARTITION * self._partitions)
        return {"kafka.fetch.min.bytes": "262144", "kafka.fetch.max.wait.ms": str(wait)} if wait else {}

    @cached_property
    def plans(self) -> Mapping[str, DataFrame]:
        """Made once: catch-up and live run the same plan, and making it is a long talk with the JVM."""
        return {name: self._plan(name) for name in NAMES}


def starting_offsets(source: Source, starts: Mapping[int, int] | None) -> str:
    """Spark's form of where to start. Used for a new checkpoint only; an old one knows better."""
    if not starts:
        return "earliest"
    return json.dumps({source.topic: {str(partition): offset for partition, offset in starts.items()}})
