"""Reading on: records of some topics from given offsets, and whether there is anything between two offsets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from pointsman.broker import clients
from pointsman.domain.errors import BrokerError
from pointsman.settings import Connection

PROBE_SECONDS = 3.0
UNHURRIED = {"fetch.wait.max.ms": 100, "fetch.min.bytes": 1_000_000}
Message = tuple[str, int, int, bytes | None, bytes | None]  # topic, partition, offset, key, value
Offsets = Mapping[str, Mapping[int, int]]  # topic → partition → offset


class Tail:
    """Owns one consumer. `poll` gives what has come; `close` (or leaving `with`) ends it."""

    def __init__(self, kafka: Connection, start: Offsets, unhurried: bool = False) -> None:
        """An unhurried one takes what has come several times a second, instead of each record as soon as it is there:
        where a thousand come in a second, one by one, that spares the broker as many answers."""
        self._kafka = kafka
        self._starts = {(t, p): o for t, offsets in start.items() for p, o in offsets.items()}
        places = [TopicPartition(t, p, o) for t, offsets in start.items() for p, o in offsets.items()]
        pace = UNHURRIED if unhurried else {"fetch.wait.max.ms": 20}
        self._consumer = clients.assigned_consumer(kafka, places, **pace, **{"enable.partition.eof": True})

    def poll(self, timeout: float, batch: int = 5000) -> Iterator[Message]:
        """What has come, at most a batch; waits for the first no longer than the timeout.

        Raises BrokerError for a topic that we may not read.
        """
        try:
            for m in clients.messages(self._consumer, timeout, batch):
                yield m.topic(), m.partition(), m.offset(), m.key(), m.value()
        except KafkaException as error:
            topics = ", ".join(sorted({topic for topic, _ in self._starts}))
            raise clients.unreadable(topics, error.args[0], self._kafka) from error

    def until(self, ends: Offsets, seconds: float = 60) -> Iterator[Message]:
        """Every record before these offsets, then ends. Raises BrokerError when they are not reached in time."""
        left = {(t, p): end for t, offsets in ends.items() for p, end in offsets.items()}
        left = {place: end for place, end in left.items() if end > self._starts.get(place, 0)}
        deadline = time.monotonic() + seconds
        while left:
            if time.monotonic() > deadline:
                raise BrokerError(f"not read to the end within {seconds:g} s: {sorted(left)}", "check the broker")
            for m in clients.arrived(self._consumer, 0.1):
                place, problem = (m.topic(), m.partition()), m.error()
                if problem is not None and problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise clients.unreadable(m.topic(), problem, self._kafka)
                if problem is None and m.offset() < left.get(place, 0):
                    yield m.topic(), m.partition(), m.offset(), m.key(), m.value()
                at_end = problem is not None and problem.code() == KafkaError._PARTITION_EOF
                if at_end or (problem is None and m.offset() + 1 >= left.get(place, 0)):
                    left.pop(place, None)

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Tail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def holds_records(kafka: Connection, topic: str, partition: int, start: int, end: int) -> bool:
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
