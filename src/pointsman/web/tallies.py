"""What has happened so far, counted: verdicts, switches and how long their phases took, dead letters by reason.

Counted are the records that the topics still hold, and each once: of dead letters, which may be many and large, only
the newest ones before this start, and all that come later.
"""

from __future__ import annotations

import json
import logging
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.errors import BrokerError
from pointsman.domain.journal import Code
from pointsman.settings import Settings

log = logging.getLogger(__name__)
BUCKETS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
OLD_DEAD_LETTERS = 10_000
RETRY_SECONDS = 1.0


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
    """Follows the topics in a thread of its own, through a broker's restarts; `start()` once, `stop()` at the end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tallies", daemon=True)
        self._next: dict[tuple[str, int], int] = {}
        self._verdicts: Counter[str] = Counter()
        self._dead_letters: Counter[str] = Counter()
        self._story = Story()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(10)

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

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                with self._open() as tail:
                    while not self._ended.is_set():
                        for topic, partition, offset, _, value in tail.poll(0.25):
                            self._take(topic, value)
                            self._next[topic, partition] = offset + 1
            except BrokerError as error:
                log.warning("%s; trying again", error)
                self._ended.wait(RETRY_SECONDS)

    def _open(self) -> Tail:
        names = self._settings.names
        admin = TopicAdmin(self._settings)
        admin.ensure(fixed_topics(self._settings))
        followed = [names.verdicts, names.journal, names.dead_letters]
        starts, ends = admin.start_offsets(followed), admin.end_offsets(followed)
        return Tail(
            self._settings.own_cluster,
            {t: {p: self._begin(t, p, start, ends[t][p]) for p, start in parts.items()} for t, parts in starts.items()},
        )

    def _begin(self, topic: str, partition: int, start: int, end: int) -> int:
        """Where we were; in a topic that is new to us, or was made anew, where it starts for us."""
        at = self._next.get((topic, partition), -1)
        if start <= at <= end:
            return at
        return max(start, end - OLD_DEAD_LETTERS) if topic == self._settings.names.dead_letters else start

    def _take(self, topic: str, value: bytes | None) -> None:
        try:
            record = json.loads(value or b"")
        except ValueError:
            return
        if not isinstance(record, dict):
            return
        names = self._settings.names
        with self._lock:
            if topic == names.verdicts:
                self._verdicts[str(record.get("verdict"))] += 1
            elif topic == names.dead_letters:
                self._dead_letters[str(record.get("reason"))] += 1
            else:
                self._story.hear(record)
