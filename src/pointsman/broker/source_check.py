"""Can a source be read? Asked before anything is built: the topic, its partitions, a sample of its newest records."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence

from confluent_kafka import KafkaException, TopicPartition

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.errors import BrokerError
from pointsman.domain.record import problem
from pointsman.domain.spec import Source
from pointsman.settings import Settings

SAMPLE = 20  # newest records of each partition
SECONDS = 5.0


class KafkaSourceCheck:
    """The orchestrator's SourceCheck on a real broker."""

    def __init__(self, settings: Settings, admin: TopicAdmin) -> None:
        self._settings = settings
        self._admin = admin

    def check(self, source: Source) -> Sequence[str]:
        """Why this source cannot be read, as sentences; empty if it can, and for an empty topic."""
        try:
            topics = self._admin.existing()
            if source.topic not in topics:
                self._admin.check_visible(source.topic)
                return [f"topic '{source.topic}' does not exist{self._suggestion(source.topic, topics)}"]
            if not topics[source.topic]:
                return [f"topic '{source.topic}' has no partition"]
            sample = newest_values(self._settings, self._admin, source.topic, SAMPLE)
        except BrokerError as error:
            return [str(error)]
        except KafkaException as error:
            return [str(clients.unreadable(source.topic, error.args[0], self._settings.cluster_of(source.topic)))]
        problems = [found for found in (problem(value, source) for value in sample) if found]
        if sample and len(problems) == len(sample):
            return [f"none of the newest {len(sample)} records of topic '{source.topic}' fits: the last {problems[-1]}"]
        return []

    def _suggestion(self, topic: str, topics: dict[str, int]) -> str:
        ours = self._settings.topics.prefix
        others = [name for name in topics if not name.startswith((ours, "__"))]
        near = difflib.get_close_matches(topic, others, n=1, cutoff=0.6)
        return f"; did you mean '{near[0]}'?" if near else ""


def newest_values(settings: Settings, admin: TopicAdmin, topic: str, count: int) -> list[bytes | None]:
    """The values of the newest records of each partition, so many of each at most; what is there within a while."""
    starts, ends = admin.start_offsets([topic])[topic], admin.end_offsets([topic])[topic]
    places = [TopicPartition(topic, p, max(starts[p], end - count)) for p, end in ends.items() if end > starts[p]]
    if not places:
        return []
    consumer = clients.assigned_consumer(settings.cluster_of(topic), places)
    left = {place.partition for place in places}
    values: list[bytes | None] = []
    deadline = time.monotonic() + SECONDS
    try:
        while left and time.monotonic() < deadline:
            for message in clients.messages(consumer, 0.2):
                values.append(message.value())
                if message.offset() + 1 >= ends[message.partition()]:
                    left.discard(message.partition())
    finally:
        consumer.close()
    return values
