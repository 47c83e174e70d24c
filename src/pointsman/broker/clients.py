"""The librdkafka clients of this process, all made from one settings block."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from pointsman.broker.refusals import lasts, refusal
from pointsman.broker.security import librdkafka
from pointsman.domain.errors import BrokerError
from pointsman.settings import Connection

log = logging.getLogger(__name__)
ClientError = KafkaException  # for rooms that do not know Kafka's own names
GROUP = "reader"


class Complaints:
    """What a client says of its connections: the last of it that waiting does not mend."""

    def __init__(self) -> None:
        self.said: KafkaError | None = None

    def __call__(self, problem: KafkaError) -> None:
        if lasts(problem):
            self.said = problem


def client_config(kafka: Connection, **more: Any) -> dict[str, Any]:
    """librdkafka's properties for these settings."""
    return {
        **librdkafka(kafka, _has_property),
        "allow.auto.create.topics": False,
        "logger": logging.getLogger("librdkafka"),
        "log_level": 2,
        **more,
    }


def admin(kafka: Connection, complaints: Complaints | None = None) -> AdminClient:
    return _made(AdminClient, kafka, {"error_cb": complaints} if complaints else {})


def answers(kafka: Connection, seconds: float) -> bool:
    """Does the broker answer us within this time?"""
    try:
        admin(kafka).list_topics(timeout=seconds)
    except KafkaException:
        return False
    return True


def producer(kafka: Connection, **more: Any) -> Producer:
    """Keeps order and loses nothing that the broker answered for."""
    return _made(Producer, kafka, {"enable.idempotence": True, "linger.ms": 5, **more})


def flush(producer: Producer, seconds: float) -> int:
    """How many records are not acknowledged by then. Raises ClientError for what has ended the producer for good.

    By `poll`, which ends where that is raised. The client's own `flush` goes on to call back, and loses it on the way.
    """
    deadline = time.monotonic() + seconds
    while len(producer) and (left := deadline - time.monotonic()) > 0:
        producer.poll(left)
    return len(producer)


def assigned_consumer(kafka: Connection, start: list[TopicPartition], **more: Any) -> Consumer:
    """A consumer of exactly these partitions; it joins no group and commits nothing."""
    config = {
        "group.id": f"{kafka.group_prefix}{GROUP}",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": False,
        "fetch.wait.max.ms": 100,
        **more,
    }
    consumer = _made(Consumer, kafka, config)
    consumer.assign(start)
    return consumer


def beginning(topic: str) -> list[TopicPartition]:
    """The first record of a topic that has one partition."""
    return [TopicPartition(topic, 0, OFFSET_BEGINNING)]


def at_end(message: Message, kafka: Connection) -> bool:
    """Does the client say that there is no more for now? It does so only with `enable.partition.eof`.

    Raises BrokerError for a topic that we may not read.
    """
    problem = message.error()
    if problem is not None and problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise unreadable(message.topic(), problem, kafka)
    return problem is not None and bool(problem.code() == KafkaError._PARTITION_EOF)


def arrived(consumer: Consumer, timeout: float, batch: int = 1000) -> list[Message]:
    """What has come, errors and ends of partitions among it; waits for the first no longer than the timeout.

    The client's own `consume` waits for a whole batch: its timeout is over before it gives a few records.
    """
    first = consumer.poll(timeout)
    return [] if first is None else [first, *consumer.consume(batch - 1, 0)]


def messages(consumer: Consumer, timeout: float, batch: int = 1000) -> Iterator[Message]:
    """The good ones of what has arrived; a passing client error is logged and skipped, the next call goes on.

    Raises ClientError for what does not pass: a fatal error, or a topic that may not be read.
    """
    for message in arrived(consumer, timeout, batch):
        problem = message.error()
        if problem is None:
            yield message
        elif problem.fatal() or problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise KafkaException(problem)
        else:
            log.debug("consumer: %s", problem)


def unreadable(topic: str, problem: KafkaError, kafka: Connection) -> BrokerError:
    return refusal(f"topic '{topic}' cannot be read", problem, kafka, operation="READ", on=topic)


def _made(kind: Callable[[dict[str, Any]], Any], kafka: Connection, more: dict[str, Any]) -> Any:
    """A file that is no certificate, a value that is none: librdkafka says so before it connects."""
    try:
        return kind(client_config(kafka, **more))
    except KafkaException as error:
        raise refusal("no client can be made", error.args[0], kafka) from error


@functools.cache
def _has_property(name: str) -> bool:
    """Whether librdkafka has it: there is no list to ask, but it refuses what it does not know."""
    try:
        Consumer({"group.id": GROUP, name: ""}).close()
    except KafkaException as error:
        return "No such configuration property" not in str(error)
    return True
