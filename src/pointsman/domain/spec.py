"""The wanted state: which sources, joined how. Immutable, and told apart by a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any


class ColumnType(StrEnum):
    """What a column may hold; `docs/reference/records.md` says which JSON values each accepts."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"


class JoinType(StrEnum):
    LEFT = "left"  # every key of the left source, nulls until the right ones come
    INNER = "inner"  # keys that every source has
    NATURAL = "natural"  # at most one match per key, which is what left is here: the same result
    RIGHT = "right"  # keys that some right source has
    FULL = "full"  # keys that any source has
    ASOF = "asof"  # one row per record of the first right source, the others as of its timestamp


@dataclass(frozen=True)
class Column:
    name: str
    type: ColumnType


@dataclass(frozen=True)
class Source:
    """A named input. `start` is `earliest`, `latest` or a timestamp in milliseconds since the epoch."""

    name: str
    topic: str
    columns: tuple[Column, ...]
    start: str | int = "earliest"


@dataclass(frozen=True)
class Spec:
    """Sources (the left one first), the key that joins them, and how.

    Guaranteed by the constructor: at least two sources, names distinct, every source has the key
    as its first column, of the same type, string or long, and no two columns of a source or of the
    joined row have one name (upper and lower case do not make two of one).
    """

    sources: tuple[Source, ...]
    key: str
    join: JoinType
    asof_history: int = 64

    def __post_init__(self) -> None:
        if len(self.sources) < 2:
            raise ValueError("a spec joins at least two sources")
        names = [source.name for source in self.sources]
        if len(set(names)) != len(names):
            raise ValueError(f"source names must differ: {', '.join(names)}")
        key_column = self.sources[0].columns[0]
        if key_column.name != self.key or key_column.type not in (ColumnType.STRING, ColumnType.LONG):
            raise ValueError(f"the key '{self.key}' must be the first column and a string or a long")
        for source in self.sources:
            if source.columns[0] != key_column:
                raise ValueError(f"source '{source.name}' needs the key '{self.key}' as its first column")
            _refuse_twins([c.name for c in source.columns], f"source '{source.name}'")
        _refuse_twins([c.name for c in self.output_columns], "the joined row")

    @property
    def left(self) -> Source:
        return self.sources[0]

    @property
    def rights(self) -> tuple[Source, ...]:
        return self.sources[1:]

    @property
    def key_column(self) -> Column:
        return self.left.columns[0]

    def source(self, name: str) -> Source:
        return next(source for source in self.sources if source.name == name)

    def output_name(self, source: Source, column: Column) -> str:
        """The column's name in the joined row: its own, or `<source>_<column>` where two sources share it."""
        name = column.name.casefold()
        holders = [s for s in self.sources if name in {c.name.casefold() for c in s.columns}]
        return column.name if column.name == self.key or len(holders) == 1 else f"{source.name}_{column.name}"

    @cached_property
    def output_columns(self) -> tuple[Column, ...]:
        """Key, left columns, right columns: the same, in the same order, for every join type."""
        rest = (
            Column(self.output_name(source, column), column.type)
            for source in self.sources
            for column in source.columns[1:]
        )
        return (self.key_column, *rest)

    def with_overrides(self, topics: Mapping[str, str], join: JoinType | None) -> Spec:
        sources = tuple(replace(s, topic=topics.get(s.name, s.topic)) for s in self.sources)
        return replace(self, sources=sources, join=join or self.join)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal specs, on every machine and in every version that keeps the JSON form."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "join": self.join.value,
            "asofHistory": self.asof_history,
            "sources": [
                {
                    "name": s.name,
                    "topic": s.topic,
                    "start": s.start,
                    "columns": [{"name": c.name, "type": c.type.value} for c in s.columns],
                }
                for s in self.sources
            ],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Spec:
        sources = tuple(
            Source(
                name=s["name"],
                topic=s["topic"],
                start=s["start"],
                columns=tuple(Column(c["name"], ColumnType(c["type"])) for c in s["columns"]),
            )
            for s in data["sources"]
        )
        return Spec(sources, data["key"], JoinType(data["join"]), data["asofHistory"])


def _refuse_twins(names: list[str], where: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if name.casefold() in seen:
            raise ValueError(f"{where} would have two columns of one name: '{seen[name.casefold()]}' and '{name}'")
        seen[name.casefold()] = name
