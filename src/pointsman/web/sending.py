"""Control messages on their way to the control topic."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping
from typing import Any

from pointsman.broker import clients
from pointsman.domain.control import REQUEST_FIELD
from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings

SEND_SECONDS = 10.0


class Sender:
    """`send` returns the request id once the broker has the message for good; it raises BrokerError otherwise."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = clients.producer(settings.kafka, **{"message.timeout.ms": int(SEND_SECONDS * 1000)})

    def send(self, message: Mapping[str, Any]) -> str:
        request_id = str(message.get(REQUEST_FIELD) or uuid.uuid4().hex)
        value = json.dumps({**message, REQUEST_FIELD: request_id}).encode()
        done = threading.Event()
        problems: list[str] = []

        def delivered(problem: Any, _message: Any) -> None:
            if problem is not None:
                problems.append(str(problem.str()))
            done.set()

        self._producer.produce(self._settings.control.topic, value, on_delivery=delivered)
        self._producer.flush(SEND_SECONDS + 1)
        if not done.is_set() or problems:
            why = problems[0] if problems else f"no answer in {SEND_SECONDS:.0f} s"
            raise BrokerError(
                f"the control message could not be written to '{self._settings.control.topic}': {why}",
                "check that the broker answers, then send it again",
            )
        return request_id

    def close(self) -> None:
        self._producer.flush(1)
