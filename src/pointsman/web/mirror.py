"""What our topics say, kept in memory: catalog, status and its last minutes, verdicts, counts, tables servers."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.catalog import Catalog
from pointsman.domain.errors import BrokerError, CatalogError
from pointsman.settings import Settings

log = logging.getLogger(__name__)

Record = Mapping[str, Any]
HISTORY_SECONDS = 15 * 60
VERDICTS_KEPT = 500
STATUS_OFFSETS = 4000  # 15 minutes of heartbeats, each with a transaction marker
RETRY_SECONDS = 1.0


class Mirror:
    """Follows our topics in a thread of its own. Every read gives the newest that has arrived, and never blocks.

    It starts with the broker down, and outlives its restarts.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._news = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="mirror", daemon=True)
        self._catalog: Catalog | None = None
        self._catalog_problem = ""
        self._status: Record | None = None
        self._history: deque[Record] = deque()
        self._verdicts: deque[Record] = deque(maxlen=VERDICTS_KEPT)
        self._counts: dict[str, Record] = {}
        self._servers: dict[str, Record] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(10)

    @property
    def catalog(self) -> Catalog | None:
        """None before the first one has come. Raises CatalogError for one that this version cannot read."""
        with self._news:
            if self._catalog_problem:
                raise CatalogError(self._catalog_problem, "run the version of Pointsman that wrote it")
            return self._catalog

    @property
    def status(self) -> Record | None:
        with self._news:
            return self._status

    @property
    def history(self) -> list[Record]:
        """Status records of the last 15 minutes, oldest first."""
        with self._news:
            return list(self._history)

    @property
    def verdicts(self) -> list[Record]:
        """Newest first."""
        with self._news:
            return list(reversed(self._verdicts))

    @property
    def counts(self) -> list[Record]:
        with self._news:
            return list(self._counts.values())

    @property
    def servers(self) -> list[Record]:
        with self._news:
            return list(self._servers.values())

    def verdict_of(self, request_id: str, seconds: float) -> Record | None:
        """The verdict of this request, waiting for it that long; None if it has not come by then."""
        deadline = time.monotonic() + seconds
        with self._news:
            while True:
                found = next((v for v in reversed(self._verdicts) if v.get("requestId") == request_id), None)
                left = deadline - time.monotonic()
                if found is not None or left <= 0 or self._ended.is_set():
                    return found
                self._news.wait(min(left, 0.5))

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                with self._open() as tail:
                    while not self._ended.is_set():
                        for topic, _, _, key, value in tail.poll(0.25):
                            self._take(topic, key, value)
            except BrokerError as error:
                log.warning("%s; trying again", error)
                self._ended.wait(RETRY_SECONDS)

    def _open(self) -> Tail:
        names = self._settings.names
        admin = TopicAdmin(self._settings)
        admin.ensure(fixed_topics(self._settings))
        followed = [names.catalog, names.status, names.verdicts, names.counts, names.tables]
        starts, ends = admin.start_offsets(followed), admin.end_offsets(followed)
        recent = {names.status: STATUS_OFFSETS, names.verdicts: 2 * VERDICTS_KEPT}
        return Tail(
            self._settings.own_cluster,
            {
                topic: {p: max(start, ends[topic][p] - recent.get(topic, ends[topic][p])) for p, start in parts.items()}
                for topic, parts in starts.items()
            },
        )

    def _take(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        names = self._settings.names
        with self._news:
            if topic == names.catalog:
                self._take_catalog(value)
            elif topic == names.status:
                self._take_status(_object(value))
            elif topic == names.verdicts:
                verdict = _object(value)
                if verdict is not None:
                    self._verdicts.append(verdict)
            elif topic in (names.counts, names.tables) and key is not None:
                kept = self._counts if topic == names.counts else self._servers
                record = _object(value)
                if record is None:
                    kept.pop(key.decode(errors="replace"), None)
                else:
                    kept[key.decode(errors="replace")] = record
            self._news.notify_all()

    def _take_catalog(self, value: bytes | None) -> None:
        if value is None:
            return
        try:
            self._catalog, self._catalog_problem = Catalog.from_bytes(value), ""
        except CatalogError as error:
            self._catalog_problem = str(error)

    def _take_status(self, status: Record | None) -> None:
        at = status and status.get("at")
        if status is None or not isinstance(at, int | float):
            return
        self._status = status
        self._history.append(status)
        while self._history and self._history[0]["at"] < at - HISTORY_SECONDS:
            self._history.popleft()


def _object(value: bytes | None) -> Record | None:
    """The JSON object in a record of ours; None for a tombstone or what another program has put there."""
    try:
        found = json.loads(value) if value else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
