"""Topics: made idempotently with what they need, deleted, listed, and measured by their offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from pointsman.broker import clients
from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import Generation
from pointsman.settings import Settings

TIMEOUT = 30.0
COMMITTED = {"request_timeout": TIMEOUT, "isolation_level": IsolationLevel.READ_COMMITTED}
PASSING = {  # a topic made a moment ago has no leader yet, or not one that every broker knows of
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
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
    largest = len(generation.spec.sources) * settings.pipeline.max_value_bytes + 65_536
    large = {"max.message.bytes": str(largest)}
    views = [TopicPlan(topic, partitions, kept | large) for topic in generation.views.values()]
    return [*views, TopicPlan(generation.final, partitions, COMPACTED | large)]


class TopicAdmin:
    """Idempotent topic work on one cluster. Every call raises BrokerError with what to do next."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin: AdminClient = clients.admin(settings.kafka)

    def ensure(self, plans: Iterable[TopicPlan]) -> None:
        """All of these topics exist when this returns; those that existed are left as they are."""
        plans = list(plans)
        new = [NewTopic(p.name, p.partitions, self._settings.topics.replication, config=dict(p.config)) for p in plans]
        for name, future in self._admin.create_topics(new, operation_timeout=TIMEOUT).items():
            try:
                future.result(TIMEOUT)
            except (KafkaException, TimeoutError) as error:
                if _code(error) != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise self._explain(f"topic '{name}' could not be created", error) from error
        self._await(lambda existing: existing >= {plan.name for plan in plans}, "topics are not visible yet")

    def delete(self, names: Iterable[str]) -> None:
        """None of these topics exist when this returns."""
        wanted = [name for name in names if name in self.existing()]
        if not wanted:
            return
        for name, future in self._admin.delete_topics(wanted, operation_timeout=TIMEOUT).items():
            try:
                future.result(TIMEOUT)
            except (KafkaException, TimeoutError) as error:
                if _code(error) != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._explain(f"topic '{name}' could not be deleted", error) from error
        self._await(lambda existing: not existing & set(wanted), f"topics are still there: {', '.join(wanted)}")

    def _await(self, holds: Callable[[set[str]], bool], otherwise: str) -> None:
        """The broker answers before every client can see what it did."""
        deadline = time.monotonic() + TIMEOUT
        while not holds(set(self.existing())):
            if time.monotonic() > deadline:
                raise BrokerError(f"{otherwise}, after {TIMEOUT:.0f} s", "check the broker, then try again")
            time.sleep(0.05)

    def existing(self) -> dict[str, int]:
        """Topic → number of partitions, of every topic that we may see."""
        try:
            found = self._admin.list_topics(timeout=TIMEOUT).topics
        except (KafkaException, TimeoutError) as error:
            raise self._explain("the topics could not be listed", error) from error
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def partitions(self, topic: str) -> list[int]:
        count = self.existing().get(topic)
        if count is None:
            raise BrokerError(f"topic '{topic}' does not exist", "create it, or name another topic")
        return list(range(count))

    def end_offsets(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """Per topic and partition, the offset that the next record will get (open transactions left out)."""
        return self._offsets(topics, OffsetSpec.latest())

    def start_offsets(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        return self._offsets(topics, OffsetSpec.earliest())

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Per partition, the first offset whose record is not older; the end where there is none."""
        found = self._offsets([topic], OffsetSpec.for_timestamp(timestamp_ms))[topic]
        ends = self.end_offsets([topic])[topic]
        return {partition: ends[partition] if at < 0 else at for partition, at in found.items()}

    def _offsets(self, topics: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
        wanted = {TopicPartition(topic, p): spec for topic in topics for p in self.partitions(topic)}
        deadline = time.monotonic() + TIMEOUT
        while True:
            found: dict[str, dict[int, int]] = {}
            try:
                for where, future in self._admin.list_offsets(wanted, **COMMITTED).items():
                    found.setdefault(where.topic, {})[where.partition] = future.result(TIMEOUT).offset
                return found
            except (KafkaException, TimeoutError) as error:
                if error.args[0].code() not in PASSING or time.monotonic() > deadline:
                    raise self._explain("offsets could not be read", error) from error
            time.sleep(0.05)

    def _explain(self, what: str, error: KafkaException | TimeoutError) -> BrokerError:
        servers = self._settings.kafka.bootstrap_servers
        return BrokerError(
            f"{what} on {servers}: {_words(error)}",
            "check that the broker answers there (kafka.bootstrap_servers) and what it permits us",
        )


def _code(error: KafkaException | TimeoutError) -> int | None:
    return error.args[0].code() if isinstance(error, KafkaException) else None


def _words(error: KafkaException | TimeoutError) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else f"no answer within {TIMEOUT:.0f} s"
