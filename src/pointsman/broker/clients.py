"""The librdkafka clients of this process, all made from one settings block."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from pointsman.settings import Kafka

log = logging.getLogger(__name__)
ClientError = KafkaException  # for rooms that do not know Kafka's own names


def client_config(kafka: Kafka, **more: Any) -> dict[str, Any]:
    """librdkafka's properties for these settings."""
    return {
        "bootstrap.servers": kafka.bootstrap_servers,
        "allow.auto.create.topics": False,
        "logger": logging.getLogger("librdkafka"),
        "log_level": 2,
        **more,
    }


def admin(kafka: Kafka) -> AdminClient:
    return AdminClient(client_config(kafka))


def answers(kafka: Kafka, seconds: float) -> bool:
    """Does the broker answer us within this time?"""
    try:
        admin(kafka).list_topics(timeout=seconds)
    except KafkaException:
        return False
    return True


def producer(kafka: Kafka, **more: Any) -> Producer:
    """Keeps order and loses nothing that the broker answered for."""
    return Producer(client_config(kafka, **{"enable.idempotence": True, "linger.ms": 5, **more}))


def assigned_consumer(kafka: Kafka, start: list[TopicPartition], **more: Any) -> Consumer:
    """A consumer of exactly these partitions; it joins no group and commits nothing."""
    config = {
        "group.id": "pointsman-reader",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": False,
        "fetch.wait.max.ms": 100,
        **more,
    }
    consumer = Consumer(client_config(kafka, **config))
    consumer.assign(start)
    return consumer


def beginning(topic: str) -> list[TopicPartition]:
    """The first record of a topic that has one partition."""
    return [TopicPartition(topic, 0, OFFSET_BEGINNING)]


def at_end(message: Message) -> bool:
    """Does the client say that there is no more for now? It does so only with `enable.partition.eof`."""
    problem = message.error()
    return problem is not None and bool(problem.code() == KafkaError._PARTITION_EOF)


def messages(consumer: Consumer, timeout: float, batch: int = 1000) -> Iterator[Message]:
    """One batch of good messages; a passing client error is logged and skipped, the next call goes on."""
    for message in consumer.consume(batch, timeout):
        problem = message.error()
        if problem is None:
            yield message
        elif problem.fatal():
            raise KafkaException(problem)
        else:
            log.debug("consumer: %s", problem)
