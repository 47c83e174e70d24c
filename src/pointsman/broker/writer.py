"""Writing JSON records that others read: acknowledged by the broker before `flush` returns."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import KafkaError, Message

from pointsman.broker import clients
from pointsman.broker.refusals import refusal
from pointsman.domain.errors import BrokerError
from pointsman.settings import Connection


class JsonWriter:
    """Owns one producer; `flush` raises BrokerError if something could not be written in time."""

    def __init__(self, kafka: Connection) -> None:
        self._kafka = kafka
        self._producer = clients.producer(kafka)
        self._problem: tuple[str, KafkaError] | None = None
        self._topic = ""  # of the last record

    def put(self, topic: str, key: str | None, value: dict[str, Any] | None) -> None:
        """None as a value is a tombstone."""
        data = None if value is None else json.dumps(value, ensure_ascii=False).encode()
        self._topic = topic
        try:
            self._producer.produce(topic, value=data, key=key, on_delivery=self._delivered)
            self._producer.poll(0)
        except clients.ClientError as error:
            self._ended(error)

    def flush(self, seconds: float = 10) -> None:
        left = 0
        try:
            left = clients.flush(self._producer, seconds)
        except clients.ClientError as error:
            self._ended(error)
        found, self._problem = self._problem, None
        if found is not None:
            raise self._refusal(*found)
        if left:
            raise BrokerError(
                f"{left} records were not acknowledged within {seconds:g} s", "check that the broker answers"
            )

    def _ended(self, error: clients.ClientError) -> None:
        """A producer that has met a fatal error writes nothing any more: the next record goes to a new one."""
        self._problem = self._topic, error.args[0]
        self._producer = clients.producer(self._kafka)

    def _refusal(self, topic: str, problem: KafkaError) -> BrokerError:
        what = f"a record could not be written to '{topic}'"
        return refusal(what, problem, self._kafka, operation="WRITE", on=topic)

    def _delivered(self, problem: KafkaError | None, message: Message) -> None:
        if problem is not None:
            self._problem = message.topic(), problem
