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
        self._complaints = clients.Complaints()
        self._producer = clients.producer(kafka, error_cb=self._complaints)
        self._problem: tuple[str, KafkaError] | None = None

    def put(self, topic: str, key: str | None, value: dict[str, Any] | None) -> None:
        """None as a value is a tombstone."""
        data = None if value is None else json.dumps(value, ensure_ascii=False).encode()
        self._producer.produce(topic, value=data, key=key, on_delivery=self._delivered)
        self._producer.poll(0)

    def flush(self, seconds: float = 10) -> None:
        left = self._producer.flush(seconds)
        found, self._problem = self._problem, None
        if found is not None:
            topic, problem = found
            what = f"a record could not be written to '{topic}'"
            raise refusal(what, problem, self._kafka, operation="WRITE", on=topic, complaint=self._complaints.said)
        if left:
            raise BrokerError(
                f"{left} records were not acknowledged within {seconds:g} s", "check that the broker answers"
            )

    def _delivered(self, problem: KafkaError | None, message: Message) -> None:
        if problem is not None:
            self._problem = message.topic(), problem
