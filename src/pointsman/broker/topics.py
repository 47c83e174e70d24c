"""Topics: made idempotently with what they need, deleted, listed, and measured by their offsets."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import NewTopic, OffsetSpec

from pointsman.broker.cluster import Cluster
from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import Generation
from pointsman.settings import Settings

TIMEOUT = 30.0
COUNT_SECONDS = 5.0  # for so long a topic is taken to have the partitions it had
LOOK_SECONDS = 1.0  # for an answer about those; then the topics are looked for
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "600000",
    "delete.retention.ms": "60000",
}


@dataclass(frozen=True)
class TopicPlan:
    name: str
    partitions: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


def fixed_topics(settings: Settings) -> list[TopicPlan]:
    """What every process needs before it starts."""
    names = settings.names
    kept = {"retention.ms": str(settings.topics.retention_hours * 3_600_000)}
    return [
        TopicPlan(names.catalog, 1, COMPACTED),
        TopicPlan(names.status, 1, COMPACTED),
        TopicPlan(names.tables, 1, COMPACTED),
        TopicPlan(names.counts, 1, COMPACTED),
        TopicPlan(names.journal, 1, kept),
        TopicPlan(names.verdicts, 1, kept),
        TopicPlan(names.dead_letters, 1, kept),
        TopicPlan(settings.control.topic, 1, {"retention.ms": "-1"}),
    ]


def generation_topics(generation: Generation, settings: Settings) -> list[TopicPlan]:
    partitions = settings.topics.changelog_partitions
    kept = {"retention.ms": str(settings.topics.retention_hours * 3_600_000)}
    large = {"max.message.bytes": str(largest_row(generation, settings))}
    views = [TopicPlan(topic, partitions, kept | large) for topic in generation.views.values()]
    return [*views, TopicPlan(generation.final, partitions, COMPACTED | large)]


def largest_row(generation: Generation, settings: Settings) -> int:
    """In bytes. JSON text in a string column is escaped once more, and then up to twice as long as it came."""
    return 2 * len(generation.spec.sources) * settings.pipeline.max_value_bytes + 65_536


class TopicAdmin:
    """Idempotent topic work, on the cluster that each topic is on. Every call raises BrokerError: what to do next."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        found: list[Cluster] = []
        for kafka in (settings.kafka, settings.own_cluster, settings.control_cluster):
            if not any(cluster.kafka is kafka for cluster in found):
                found.append(Cluster(kafka))
        self._clusters = tuple(found)
        self._counted: tuple[float, dict[str, int]] = (-COUNT_SECONDS, {})

    def ensure(self, plans: Iterable[TopicPlan]) -> None:
        """All of these topics exist when this returns; those that existed are left as they are."""
        wanted = {plan.name: plan for plan in plans}
        existing = self.existing()
        missing = [plan for name, plan in wanted.items() if name not in existing]
        for cluster, names in self._by_cluster(plan.name for plan in missing):
            cluster.create([self._new(wanted[name]) for name in names])
        self._await(lambda found: found >= set(wanted), "topics are not visible yet")

    def delete(self, names: Iterable[str]) -> None:
        """None of these topics exist when this returns."""
        existing = self.existing()
        wanted = [name for name in names if name in existing]
        for cluster, here in self._by_cluster(wanted):
            cluster.delete(here)
        if wanted:
            self._await(lambda found: not found & set(wanted), f"topics are still there: {', '.join(wanted)}")

    def _await(self, holds: Callable[[set[str]], bool], otherwise: str) -> None:
        """The broker answers before every client can see what it did."""
        deadline = time.monotonic() + TIMEOUT
        while not holds(set(self.existing())):
            if time.monotonic() > deadline:
                raise BrokerError(f"{otherwise}, after {TIMEOUT:.0f} s", "check the broker, then try again")
            time.sleep(0.05)

    def existing(self) -> dict[str, int]:
        """Topic → number of partitions, of every topic that we may see where it belongs."""
        return {
            name: partitions
            for cluster in self._clusters
            for name, partitions in cluster.topics(TIMEOUT).items()
            if self._cluster_of(name) is cluster
        }

    def partitions(self, topic: str) -> list[int]:
        count = self.existing().get(topic)
        if count is None:
            self.check_visible(topic)
            raise BrokerError(f"topic '{topic}' does not exist", "create it, or name another topic")
        return list(range(count))

    def check_visible(self, topic: str) -> None:
        """Raises BrokerError if the topic may be there, and we may not know. A list of topics leaves such out."""
        self._cluster_of(topic).check_visible(topic)

    def end_offsets(self, topics: Iterable[str], often: bool = False) -> dict[str, dict[int, int]]:
        """Per topic and partition, the offset that the next record will get (open transactions left out).

        Who asks `often` hears of a new partition some seconds late: a large cluster's list of topics is a large answer.
        """
        wanted = list(topics)
        at, counts = self._counted
        if often and time.monotonic() < at + COUNT_SECONDS and counts.keys() >= set(wanted):
            with contextlib.suppress(BrokerError):  # the list may be out of date
                known = {topic: counts[topic] for topic in wanted}
                return self._offsets_of(known, OffsetSpec.latest(), LOOK_SECONDS)
        return self._offsets(wanted, OffsetSpec.latest())

    def start_offsets(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        return self._offsets(topics, OffsetSpec.earliest())

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Per partition, the first offset whose record is not older; the end where there is none."""
        found = self._offsets([topic], OffsetSpec.for_timestamp(timestamp_ms))[topic]
        ends = self.end_offsets([topic])[topic]
        return {partition: ends[partition] if at < 0 else at for partition, at in found.items()}

    def _offsets(self, topics: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
        counts = self.existing()
        self._counted = time.monotonic(), counts
        return self._offsets_of({t: counts.get(t) or len(self.partitions(t)) for t in topics}, spec, TIMEOUT)

    def _offsets_of(self, counts: Mapping[str, int], spec: OffsetSpec, seconds: float) -> dict[str, dict[int, int]]:
        found: dict[str, dict[int, int]] = {}
        for cluster, names in self._by_cluster(counts):
            found |= cluster.offsets({name: range(counts[name]) for name in names}, spec, seconds)
        return found

    def _new(self, plan: TopicPlan) -> NewTopic:
        return NewTopic(plan.name, plan.partitions, self._settings.topics.replication, config=dict(plan.config))

    def _cluster_of(self, topic: str) -> Cluster:
        kafka = self._settings.cluster_of(topic)
        return next(cluster for cluster in self._clusters if cluster.kafka is kafka)

    def _by_cluster(self, topics: Iterable[str]) -> Iterator[tuple[Cluster, list[str]]]:
        names = list(topics)
        for cluster in self._clusters:
            if here := [name for name in names if self._cluster_of(name) is cluster]:
                yield cluster, here
