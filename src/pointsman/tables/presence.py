"""This server's word on the tables topic: that it lives, what it holds and what it shows."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable

from pointsman.broker import clients
from pointsman.settings import Settings

log = logging.getLogger(__name__)
EVERY_SECONDS = 2.0


class Presence:
    """Says something new at once, and the same again every two seconds. A lost heartbeat is never an error."""

    def __init__(self, settings: Settings, server: str, url: str) -> None:
        self._topic = settings.names.tables
        self._producer = clients.producer(settings.own_cluster, **{"message.timeout.ms": 10_000})
        self._server = server
        self._url = url
        self._last: tuple[object, ...] = ()
        self._due = 0.0

    def tell(
        self, loaded: Iterable[int], shows: int | None, refused: int, viewers: int | None, problem: str = ""
    ) -> None:
        """`refused`: records left out since the start. A change of that or of viewers alone waits for a heartbeat."""
        numbers = sorted(loaded)
        told = (numbers, shows, problem)
        if told == self._last and time.monotonic() < self._due:
            return
        self._last, self._due = told, time.monotonic() + EVERY_SECONDS
        self._send(
            json.dumps(
                {
                    "server": self._server,
                    "at": time.time(),
                    "loaded": numbers,
                    "shows": shows,
                    "refused": refused,
                    "viewers": viewers,
                    "url": self._url,
                    "problem": problem,
                }
            ).encode()
        )

    def leave(self) -> None:
        self._send(None)
        self._producer.flush(5)

    def _send(self, value: bytes | None) -> None:
        try:
            self._producer.produce(self._topic, value, self._server.encode())
            self._producer.poll(0)
        except (BufferError, clients.ClientError) as error:
            log.warning("heartbeat not sent: %s", error)
