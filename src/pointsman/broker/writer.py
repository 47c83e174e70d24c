"""Writing JSON records that others read: acknowledged by the broker before `flush` returns."""

from __future__ import annotations

import json
from typing import Any

from pointsman.broker import clients
from pointsman.domain.errors import BrokerError
from pointsman.settings import Kafka


class JsonWriter:
    """Owns one producer; `flush` raises BrokerError if something could not be written in time."""

    def __init__(self, kafka: Kafka) -> None:
        self._producer = clients.producer(kafka)

    def put(self, topic: str, key: str | None, value: dict[str, Any] | None) -> None:
        """None as a value is a tombstone."""
        data = None if value is None else json.dumps(value, ensure_ascii=False).encode()
        self._producer.produce(topic, value=data, key=key)
        self._producer.poll(0)

    def flush(self, seconds: float = 10) -> None:
        left = self._producer.flush(seconds)
        if left:
            raise BrokerError(
                f"{left} records were not acknowledged within {seconds:g} s", "check that the broker answers"
            )
