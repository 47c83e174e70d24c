"""What our topics say, kept in memory: catalog, status and its last minutes, verdicts, counts, tables servers."""

from __future__ import annotations

import threading
import time
from collections import deque

from pointsman.domain.catalog import Catalog
from pointsman.domain.errors import CatalogError
from pointsman.settings import Settings
from pointsman.web.following import EVERYTHING, Following, Record, json_object

HISTORY_SECONDS = 15 * 60
VERDICTS_KEPT = 500
STATUS_OFFSETS = 4000  # 15 minutes of heartbeats, each with a transaction marker


class Mirror:
    """Every read gives the newest that has arrived, and never blocks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._news = threading.Condition()
        names = settings.names
        topics = {
            names.catalog: EVERYTHING,
            names.status: STATUS_OFFSETS,
            names.verdicts: 2 * VERDICTS_KEPT,
            names.counts: EVERYTHING,
            names.tables: EVERYTHING,
        }
        self._following = Following("mirror", settings, topics, self._take)
        self._catalog: Catalog | None = None
        self._catalog_problem = ""
        self._status: Record | None = None
        self._history: deque[Record] = deque()
        self._verdicts: deque[Record] = deque(maxlen=VERDICTS_KEPT)
        self._counts: dict[str, Record] = {}
        self._servers: dict[str, Record] = {}

    def start(self) -> None:
        self._following.start()

    def stop(self) -> None:
        self._following.stop()

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
                if found is not None or left <= 0 or self._following.ended:
                    return found
                self._news.wait(min(left, 0.5))

    def _take(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        names = self._settings.names
        with self._news:
            if topic == names.catalog:
                self._take_catalog(value)
            elif topic == names.status:
                self._take_status(json_object(value))
            elif topic == names.verdicts:
                verdict = json_object(value)
                if verdict is not None:
                    self._verdicts.append(verdict)
            elif topic in (names.counts, names.tables) and key is not None:
                kept = self._counts if topic == names.counts else self._servers
                record = json_object(value)
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
