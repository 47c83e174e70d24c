"""What has happened so far, counted: verdicts, switches and how long their phases took, dead letters by reason.

Counted are the records that the topics still hold, and each once: of dead letters, which may be many and large, only
the newest ones before this start, and all that come later.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman.domain.journal import Code
from pointsman.settings import Settings
from pointsman.web.following import EVERYTHING, Following, json_object

BUCKETS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
OLD_DEAD_LETTERS = 10_000


@dataclass
class Durations:
    """How many took how long: for each bound, and beyond the last."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Story:
    """Switches, told by the journal. Pure."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.phases: dict[str, Durations] = {phase: Durations() for phase in ("build", "publish", "whole")}
        self._begun: dict[int, float] = {}  # generation → when its build began
        self._ready: dict[int, float] = {}

    def hear(self, entry: Mapping[str, Any]) -> None:
        number, at = entry.get("generation"), entry.get("ts")
        if not isinstance(number, int) or not isinstance(at, int | float):
            return
        match entry.get("code"):
            case Code.BUILDING.value:
                self._begun[number] = at
            case Code.READY.value if number in self._begun:
                if number not in self._ready:
                    self.phases["build"].add(at - self._begun[number])
                self._ready[number] = at
            case Code.PUBLISHED.value:
                self._published(number, at)
            case Code.FAILED.value | Code.CANCELLED.value as ended:
                self.results["failed" if ended == Code.FAILED.value else "cancelled"] += 1
                self._forget(number)
            case Code.FREED.value:
                self._forget(number)

    def _published(self, number: int, at: float) -> None:
        if number not in self._begun:
            self.results["rolled_back"] += 1
            return
        self.results["published"] += 1
        self.phases["publish"].add(at - self._ready.get(number, at))
        self.phases["whole"].add(at - self._begun[number])
        self._forget(number)

    def _forget(self, number: int) -> None:
        self._begun.pop(number, None)
        self._ready.pop(number, None)


class Tallies:
    """Beside the mirror, not in it: many old dead letters, still being counted, must not hold up what is true now."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        names = settings.names
        topics = {names.verdicts: EVERYTHING, names.journal: EVERYTHING, names.dead_letters: OLD_DEAD_LETTERS}
        self._following = Following("tallies", settings, topics, self._take)
        self._verdicts: Counter[str] = Counter()
        self._dead_letters: Counter[str] = Counter()
        self._story = Story()

    def start(self) -> None:
        self._following.start()

    def stop(self) -> None:
        self._following.stop()

    def verdicts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._verdicts)

    def dead_letters(self) -> dict[str, int]:
        with self._lock:
            return dict(self._dead_letters)

    def switches(self) -> dict[str, int]:
        with self._lock:
            return dict(self._story.results)

    def phases(self) -> dict[str, Durations]:
        with self._lock:
            return {phase: Durations(list(d.counts), d.total) for phase, d in self._story.phases.items()}

    def _take(self, topic: str, _key: bytes | None, value: bytes | None) -> None:
        record = json_object(value)
        if record is None:
            return
        names = self._settings.names
        with self._lock:
            if topic == names.verdicts:
                self._verdicts[str(record.get("verdict"))] += 1
            elif topic == names.dead_letters:
                self._dead_letters[str(record.get("reason"))] += 1
            else:
                self._story.hear(record)
