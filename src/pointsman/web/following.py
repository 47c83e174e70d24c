"""Reading on in some of our topics, as long as this process lives: through a broker that comes late or goes away."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings

log = logging.getLogger(__name__)
RETRY_SECONDS = 1.0
EVERYTHING: None = None
Record = Mapping[str, Any]
Take = Callable[[str, bytes | None, bytes | None], None]  # topic, key, value


class Following:
    """Gives each record once, in a thread of its own, between `start()` and `stop()`.

    `topics` says for each how many offsets before its end we begin, or EVERYTHING.
    """

    def __init__(self, name: str, settings: Settings, topics: Mapping[str, int | None], take: Take) -> None:
        self._settings, self._topics, self._take = settings, topics, take
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self._next: dict[tuple[str, int], int] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(10)

    @property
    def ended(self) -> bool:
        """Whether it was asked to stop: nothing more will come."""
        return self._ended.is_set()

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                with self._open() as tail:
                    while not self._ended.is_set():
                        for topic, partition, offset, key, value in tail.poll(0.25):
                            self._take(topic, key, value)
                            self._next[topic, partition] = offset + 1
            except BrokerError as error:
                log.warning("%s; trying again; next: %s", error, error.next_step)
                self._ended.wait(RETRY_SECONDS)

    def _open(self) -> Tail:
        admin = TopicAdmin(self._settings)
        admin.ensure(fixed_topics(self._settings))
        starts, ends = admin.start_offsets(self._topics), admin.end_offsets(self._topics)
        return Tail(
            self._settings.own_cluster,
            {t: {p: self._begin(t, p, start, ends[t][p]) for p, start in parts.items()} for t, parts in starts.items()},
        )

    def _begin(self, topic: str, partition: int, start: int, end: int) -> int:
        """Where we were; in a topic that is new to us, or was made anew, where it starts for us."""
        at = self._next.get((topic, partition), -1)
        if start <= at <= end:
            return at
        before = self._topics[topic]
        return start if before is None else max(start, end - before)


def json_object(value: bytes | None) -> Record | None:
    """The JSON object in a record of ours; None for a tombstone or what another program has put there."""
    try:
        found = json.loads(value) if value else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
