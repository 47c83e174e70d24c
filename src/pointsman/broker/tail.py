"""Reading on: records of some topics from given offsets, and whether there is anything between two offsets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType

from confluent_kafka import KafkaError, TopicPartition

from pointsman.broker import clients
from pointsman.settings import Kafka

PROBE_SECONDS = 10.0
Offsets = Mapping[str, Mapping[int, int]]  # topic → partition → offset


class Tail:
    """Owns one consumer. `poll` gives what has come; `close` (or leaving `with`) ends it."""

    def __init__(self, kafka: Kafka, start: Offsets) -> None:
        places = [TopicPartition(t, p, o) for t, offsets in start.items() for p, o in offsets.items()]
        self._consumer = clients.assigned_consumer(kafka, places, **{"fetch.wait.max.ms": 20})

    def poll(self, timeout: float, batch: int = 5000) -> Iterator[tuple[str, int, int, bytes | None, bytes | None]]:
        """Topic, partition, offset, key, value."""
        for m in clients.messages(self._consumer, timeout, batch):
            yield m.topic(), m.partition(), m.offset(), m.key(), m.value()

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Tail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def holds_records(kafka: Kafka, topic: str, partition: int, start: int, end: int) -> bool:
    """Is there a record in [start, end)? Offsets there may belong to transaction markers or compacted records."""
    consumer = clients.assigned_consumer(
        kafka, [TopicPartition(topic, partition, start)], **{"enable.partition.eof": True}
    )
    deadline = time.monotonic() + PROBE_SECONDS
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None:
                continue
            problem = message.error()
            if problem is None:
                return bool(message.offset() < end)
            if problem.code() == KafkaError._PARTITION_EOF:
                return False
        return True
    finally:
        consumer.close()
