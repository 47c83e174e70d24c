"""The counter that people can see: read = joined + off the join + dead letters, per topic and partition.

A run's ledger counts what comes from the moment it goes real-time. What the changelogs held before is counted here,
once, at a pace that leaves the cores to the queries.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping

from pointsman.broker.tail import Offsets, Tail
from pointsman.broker.writer import JsonWriter
from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import Generation
from pointsman.pipeline.ledger import Ledger
from pointsman.settings import Settings

PUBLISH_SECONDS = 2.0
BATCH = 2000
REST_SECONDS = 0.02  # for every batch of records: at most some 50 k a second, a fraction of one core


class Books:
    """Belongs to one run. `publish` writes what has changed since the last time; `close` ends the counting."""

    def __init__(self, settings: Settings, generation: Generation) -> None:
        self._settings = settings
        self._generation = generation
        self._writer = JsonWriter(settings.own_cluster)
        self._past = Ledger(generation)
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._written: dict[tuple[str, int], dict[str, object]] = {}
        self._due = 0.0

    def count_past(self, start: Offsets, end: Offsets) -> None:
        """Counts the changelogs' records in [start, end), in the background."""
        self._past = Ledger(self._generation)
        self._thread = threading.Thread(target=self._count, args=(start, end), daemon=True)
        self._thread.start()

    @property
    def complete(self) -> bool:
        """Whether everything before the run's own ledger is counted."""
        return self._thread is not None and not self._thread.is_alive()

    def counts(self, ledger: Ledger) -> list[dict[str, object]]:
        """The past and the present together."""
        total = Ledger(self._generation)
        for one in (self._past, ledger):
            for (source, partition), entry in list(one.partitions.items()):
                sum_ = total.at(source, partition)
                sum_.joined += entry.joined
                sum_.off_join += entry.off_join
                sum_.dead_letters += entry.dead_letters
                sum_.next_view = max(sum_.next_view, entry.next)
        return total.counts()

    def publish(self, ledger: Ledger, now: float) -> None:
        if now < self._due:
            return
        self._due = now + PUBLISH_SECONDS
        number = self._generation.number
        for count in self.counts(ledger):
            place = (str(count["topic"]), int(str(count["partition"])))
            if self._written.get(place) != count:
                self._writer.put(self._settings.names.counts, f"g{number}-{place[0]}-{place[1]}", count)
                self._written[place] = count
        with contextlib.suppress(BrokerError):  # the broker is away: the queries say so, and this is written again
            self._writer.flush(1)

    def close(self) -> None:
        self._closed.set()
        if self._thread:
            self._thread.join(10)

    def _count(self, start: Offsets, end: Offsets) -> None:
        left = {(t, p): o for t, offsets in end.items() for p, o in offsets.items() if o > _at(start, t, p)}
        with Tail(self._settings.own_cluster, start) as tail:
            while left and not self._closed.is_set():
                seen = 0
                for topic, partition, offset, key, value in tail.poll(0.5, BATCH):
                    seen += 1
                    if offset < end[topic][partition]:
                        self._past.fold_safely(topic, key, value)
                    if offset + 1 >= end[topic][partition]:
                        left.pop((topic, partition), None)
                time.sleep(REST_SECONDS * seen / BATCH)


def _at(offsets: Mapping[str, Mapping[int, int]], topic: str, partition: int) -> int:
    return offsets.get(topic, {}).get(partition, 0)
