"""What the final changelog must say, computed in plain Python from the records themselves.

Written from the reference (docs/reference/records.md and the join types), not from the Spark plan: it shares no code
with it.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pointsman.domain.spec import ColumnType, JoinType, Source, Spec


@dataclass(frozen=True)
class Record:
    source: str
    topic: str
    partition: int
    offset: int
    ts: int
    key: bytes | None
    value: bytes | None

    @property
    def order(self) -> tuple[int, int, int]:
        return (self.ts, self.partition, self.offset)

    @property
    def position(self) -> str:
        return f"{self.topic}-{self.partition}-{self.offset}"


@dataclass(frozen=True)
class Judged:
    """A record, and what it is: a row, a tombstone (`gone`), or refused for a reason."""

    record: Record
    key: Any
    row: dict[str, Any]
    gone: bool = False
    reason: str | None = None

    @property
    def joins(self) -> bool:
        return self.reason is None and self.key not in (None, "")


class Refused(Exception): ...


def judge(record: Record, source: Source, max_value_bytes: int = 1_048_576) -> Judged:
    key_column = source.columns[0]
    if record.value is None:
        if record.key is None:
            return Judged(record, None, {}, reason="tombstone-without-key")
        try:
            text = record.key.decode()
            key: Any = int(text) if key_column.type is ColumnType.LONG else text
        except ValueError:
            return Judged(record, None, {}, reason="tombstone-key-unreadable")
        return Judged(record, key, {}, gone=True)
    if record.value == b"":
        return Judged(record, None, {}, reason="empty")
    if len(record.value) > max_value_bytes:
        return Judged(record, None, {}, reason="too-large")
    try:
        text = record.value.decode()
    except UnicodeDecodeError:
        return Judged(record, None, {}, reason="bad-utf8")
    try:
        pairs = json.loads(text, object_pairs_hook=Pairs, parse_constant=_no_constants)
    except ValueError:
        return Judged(record, None, {}, reason="not-json")
    if not isinstance(pairs, Pairs):
        return Judged(record, None, {}, reason="not-an-object")
    types = {column.name: column.type for column in source.columns}
    row: dict[str, Any] = {}
    try:
        for name, value in pairs.pairs:
            if name in types:
                row[name] = _typed(value, types[name])
    except Refused:
        return Judged(record, None, {}, reason="wrong-type")
    return Judged(record, row.get(key_column.name), row)


@dataclass(frozen=True)
class Pairs:
    pairs: list[tuple[str, Any]]


def _no_constants(name: str) -> Any:
    raise ValueError(name)


def _typed(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    match kind:
        case ColumnType.STRING:
            if isinstance(value, str):
                return value.encode("utf-8", "replace").decode()
            return _text(value)
        case ColumnType.BOOLEAN:
            if isinstance(value, bool):
                return value
        case ColumnType.LONG:
            if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
                return value
        case ColumnType.DOUBLE:
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
    raise Refused


def _text(value: Any) -> str:
    """What is not a string becomes its JSON text."""
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(k)}:{_text(v)}" for k, v in value.pairs) + "}"
    return json.dumps(value, separators=(",", ":"))


def final_rows(records: Iterable[Record], spec: Spec) -> dict[str, dict[str, Any]]:
    """Row key → the columns that are not null, `_ts`, and (but for as-of) `_version`; rows not shown are absent."""
    judged = [judge(r, spec.source(r.source)) for r in records]
    by_key: dict[Any, list[Judged]] = defaultdict(list)
    for j in judged:
        if j.joins:
            by_key[j.key].append(j)
    rows: dict[str, dict[str, Any]] = {}
    for key, found in by_key.items():
        if spec.join is JoinType.ASOF:
            rows |= _asof(key, found, spec)
            continue
        latest = {s.name: _latest([j for j in found if j.record.source == s.name]) for s in spec.sources}
        if not _shown({name: j is not None and not j.gone for name, j in latest.items()}, spec):
            continue
        rows[str(key)] = {
            **_columns(key, latest, spec),
            "_ts": max(j.record.ts for j in found),
            "_version": len(found),
        }
    return rows


def _asof(key: Any, found: list[Judged], spec: Spec) -> dict[str, dict[str, Any]]:
    fact = spec.rights[0].name
    rows = {}
    for j in found:
        if j.record.source != fact or j.gone:
            continue
        if any(o.gone and o.record.source == fact and o.record.order > j.record.order for o in found):
            continue
        known = {
            s.name: _latest([o for o in found if o.record.source == s.name and o.record.ts <= j.record.ts])
            for s in spec.sources
        }
        rows[j.record.position] = {**_columns(key, known | {fact: j}, spec), "_ts": j.record.ts}
    return rows


def _latest(found: list[Judged]) -> Judged | None:
    return max(found, key=lambda j: j.record.order, default=None)


def _shown(present: dict[str, bool], spec: Spec) -> bool:
    left, rights = present[spec.left.name], [present[s.name] for s in spec.rights]
    return {
        JoinType.LEFT: left,
        JoinType.NATURAL: left,
        JoinType.INNER: left and all(rights),
        JoinType.RIGHT: any(rights),
        JoinType.FULL: left or any(rights),
    }[spec.join]


def _columns(key: Any, latest: dict[str, Judged | None], spec: Spec) -> dict[str, Any]:
    columns = {spec.key: key}
    for source in spec.sources:
        j = latest[source.name]
        if j is None or j.gone:
            continue
        for column in source.columns[1:]:
            if j.row.get(column.name) is not None:
                columns[spec.output_name(source, column)] = j.row[column.name]
    return columns


def books(records: Iterable[Record], spec: Spec) -> dict[tuple[str, int], dict[str, int]]:
    """Per topic and partition: read = joined + offJoin + deadLetters."""
    found: dict[tuple[str, int], dict[str, int]] = defaultdict(
        lambda: {"read": 0, "joined": 0, "offJoin": 0, "deadLetters": 0}
    )
    for record in records:
        j = judge(record, spec.source(record.source))
        entry = found[record.topic, record.partition]
        entry["read"] += 1
        entry["deadLetters" if j.reason else "joined" if j.joins else "offJoin"] += 1
    return dict(found)
