"""What became of every record that was read, counted from the changelogs themselves. Pure.

Real-time queries report progress only when a batch ends, minutes apart. The changelogs tell it at once: the views
query writes one record per record read, keyed by its position, and the join names the record that caused each row.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman.domain.generation import Generation


@dataclass
class PartitionLedger:
    """One source partition. Offsets below `next_*` are settled in that query's output."""

    joined: int = 0  # rows and tombstones with a key
    off_join: int = 0  # rows whose key is null or empty: in the view only
    dead_letters: int = 0
    next_view: int = 0
    next_dead: int = 0
    next_joinable: int = 0  # one past the newest record that the join must answer
    next_joined: int = 0  # one past the newest record that the join has answered
    newest_ts: int = 0  # event time of the newest record in the final changelog, ms

    @property
    def read(self) -> int:
        return self.joined + self.off_join + self.dead_letters

    @property
    def next(self) -> int:
        return max(self.next_view, self.next_dead)


@dataclass
class Ledger:
    """Folds changelog records of one generation. A replayed record, one not past what was seen, counts once."""

    generation: Generation
    partitions: dict[tuple[str, int], PartitionLedger] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._source_of_view = {topic: source for source, topic in self.generation.views.items()}
        self._topic_of = {s.name: s.topic for s in self.generation.spec.sources}
        self._source_of_topic = {s.topic: s.name for s in self.generation.spec.sources}
        self._keyed = f'{{"{self.generation.spec.key}":'.encode()
        self._empty = f'{{"{self.generation.spec.key}":""'.encode()

    def at(self, source: str, partition: int) -> PartitionLedger:
        return self.partitions.setdefault((source, partition), PartitionLedger())

    def fold(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Takes one record of a view, the dead letters or the final changelog; anything else is passed over."""
        if value is None or key is None:
            return
        if topic == self.generation.final:
            self._fold_final(value)
        elif topic in self._source_of_view:
            self._fold_view(self._source_of_view[topic], key, value)
        else:
            self._fold_dead_letter(value)

    def fold_safely(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Folds, and passes over what others may have written to our topics: it must not stop the count."""
        with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
            self.fold(topic, key, value)

    def _fold_view(self, source: str, key: bytes, value: bytes) -> None:
        _, partition, offset = key.rsplit(b"-", 2)
        entry, number = self.at(source, int(partition)), int(offset)
        if number < entry.next_view:
            return
        entry.next_view = number + 1
        if value.startswith(self._keyed) and not value.startswith(self._empty):
            entry.joined += 1
            entry.next_joinable = number + 1
        else:
            entry.off_join += 1

    def _fold_dead_letter(self, value: bytes) -> None:
        letter: dict[str, Any] = json.loads(value)
        if letter.get("generation") != self.generation.number:
            return
        entry = self.at(letter["source"], letter["partition"])
        if letter["offset"] >= entry.next_dead:
            entry.next_dead = letter["offset"] + 1
            entry.dead_letters += 1

    def _fold_final(self, value: bytes) -> None:
        at = value.rfind(b'"_from":"')
        source, partition, offset = value[at + 9 : -2].decode().rsplit("-", 2)
        entry = self.at(source, int(partition))
        entry.next_joined = max(entry.next_joined, int(offset) + 1)
        ts = value.rfind(b'"_ts":', 0, at)
        entry.newest_ts = max(entry.newest_ts, int(value[ts + 6 : value.index(b",", ts)]))

    def covers(self, ends: Mapping[str, Mapping[int, int]]) -> bool:
        """Is every record before these source offsets (source → partition → end) settled in both outputs?"""
        return all(
            self.at(source, partition).next >= end and self._join_answered(source, partition)
            for source, offsets in ends.items()
            for partition, end in offsets.items()
        )

    def lags(self, ends: Mapping[str, Mapping[int, int]]) -> dict[str, int]:
        """Per source, records before these source offsets that one of the outputs does not show yet."""
        behind = dict.fromkeys(ends, 0)
        for source, offsets in ends.items():
            for partition, end in offsets.items():
                entry = self.at(source, partition)
                settled = entry.next if self._join_answered(source, partition) else entry.next_joined
                behind[source] += max(0, end - settled)
        return behind

    def _join_answered(self, source: str, partition: int) -> bool:
        entry = self.at(source, partition)
        return entry.next_joined >= entry.next_joinable

    def counts(self) -> list[dict[str, Any]]:
        """One record per source partition, as people see it."""
        return [
            {
                "generation": self.generation.number,
                "source": source,
                "topic": self._topic_of[source],
                "partition": partition,
                "read": entry.read,
                "joined": entry.joined,
                "offJoin": entry.off_join,
                "deadLetters": entry.dead_letters,
                "next": entry.next,
            }
            for (source, partition), entry in sorted(self.partitions.items())
        ]
