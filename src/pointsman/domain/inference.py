"""What columns a topic seems to have, from some of its records. A first proposal, for a person to look over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman.domain.spec import ColumnType

NAME_RULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
TABLE_COLUMNS = frozenset({"eventtime", "generation"})


@dataclass(frozen=True)
class Inferred:
    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)  # field → why it cannot be a column
    records: int = 0  # that were JSON objects


def infer(values: Iterable[bytes | None]) -> Inferred:
    """In the order in which the fields appear. A field that is null everywhere is taken for a string."""
    seen: dict[str, list[Any]] = {}
    records = 0
    for value in values:
        row = _object(value)
        records += row is not None
        for name, found in (row or {}).items():
            seen.setdefault(name, []).append(found)
    columns: dict[str, ColumnType] = {}
    left_out: dict[str, str] = {}
    taken: set[str] = set()
    for name, found_values in seen.items():
        why = _unfit(name, taken)
        if why:
            left_out[name] = why
        else:
            columns[name] = _kind([v for v in found_values if v is not None])
            taken.add(name.casefold())
    return Inferred(columns, left_out, records)


def common_key(sources: Mapping[str, Mapping[str, ColumnType]], preferred: str) -> str | None:
    """A column that every source has with one type, string or long: the preferred one, or the first in order."""
    first, *others = sources.values()
    for name in sorted(first, key=lambda name: name != preferred):
        kinds = {columns.get(name) for columns in (first, *others)}
        if len(kinds) == 1 and kinds <= {ColumnType.STRING, ColumnType.LONG}:
            return name
    return None


def _object(value: bytes | None) -> dict[str, Any] | None:
    try:
        row = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _unfit(name: str, taken: set[str]) -> str:
    if not NAME_RULE.fullmatch(name):
        return "is not a letter, then letters, digits and '_'"
    if name.casefold() in TABLE_COLUMNS:
        return "the tables have a column of that name themselves"
    if name.casefold() in taken:
        return "differs from another only in upper and lower case"
    return ""


def _kind(values: list[Any]) -> ColumnType:
    """The narrowest that takes all of them; a string takes anything, as its JSON text."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return ColumnType.BOOLEAN
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return ColumnType.LONG
    if kinds and kinds <= {int, float}:
        return ColumnType.DOUBLE
    return ColumnType.STRING
