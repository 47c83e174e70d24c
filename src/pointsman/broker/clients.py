"""The librdkafka clients of this process, all made from one settings block."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from pointsman.settings import Kafka

log = logging.getLogger(__name__)


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
