"""Control messages on their way to the control topic."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping
from typing import Any

from pointsman.broker import clients
from pointsman.broker.refusals import refusal
from pointsman.domain.control import REQUEST_FIELD
from pointsman.settings import Settings

SEND_SECONDS = 10.0


class Sender:
    """`send` returns the request id once the broker has the message for good; it raises BrokerError otherwise."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = clients.producer(settings.control_cluster, **{"message.timeout.ms": int(SEND_SECONDS * 1000)})

    def send(self, message: Mapping[str, Any]) -> str:
        request_id = str(message.get(REQUEST_FIELD) or uuid.uuid4().hex)
        value = json.dumps({**message, REQUEST_FIELD: request_id}).encode()
        done = threading.Event()
        problems: list[Any] = []

        def delivered(problem: Any, _message: Any) -> None:
            if problem is not None:
                problems.append(problem)
            done.set()

        self._producer.produce(self._settings.control.topic, value, on_delivery=delivered)
        try:
            clients.flush(self._producer, SEND_SECONDS + 1)
        except clients.ClientError as error:
            problems.insert(0, error.args[0])
        if not done.is_set() or problems:
            topic = self._settings.control.topic
            what = f"the control message could not be written to '{topic}'"
            problem = problems[0] if problems else None
            raise refusal(what, problem, self._settings.control_cluster, operation="WRITE", on=topic)
        return request_id

    def close(self) -> None:
        self._producer.flush(1)
