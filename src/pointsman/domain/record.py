"""Is this value what a source expects? For samples, before anything is built: Spark judges the stream itself."""

from __future__ import annotations

import json
from typing import Any

from pointsman.domain.spec import ColumnType, Source

LONG_DIGITS = 20  # a longer number is no long; Python would refuse one of thousands of digits
PYTHON_TYPES: dict[ColumnType, tuple[type, ...]] = {
    ColumnType.LONG: (int,),
    ColumnType.DOUBLE: (int, float),
    ColumnType.BOOLEAN: (bool,),
}


def problem(value: bytes | None, source: Source) -> str | None:
    """Why this value would become a dead letter; None if it would not. A tombstone is fine."""
    if value is None:
        return None
    try:
        data: Any = json.loads(value.decode(), parse_int=_whole)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(data, dict):
        return "is not a JSON object"
    for column in source.columns:
        found = data.get(column.name)
        allowed = PYTHON_TYPES.get(column.type)
        if found is None or allowed is None:
            continue
        if not isinstance(found, allowed) or (isinstance(found, bool) and column.type is not ColumnType.BOOLEAN):
            return f"has {json.dumps(found)[:40]} for '{column.name}', which is a {column.type}"
    return None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONG_DIGITS else float(digits)
