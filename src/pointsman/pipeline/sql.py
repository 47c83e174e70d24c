"""Names and words as SQL has them.

Plans are told to Spark as text: a call for a whole select. Built from Python's column functions, the two plans of a
generation were a talk of two thousand calls, and each of them waits for a core when what is live needs them all.
"""

from __future__ import annotations

from collections.abc import Iterable


def name(*parts: str) -> str:
    """A column, or a field of one, whatever people have called it."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def text(value: str) -> str:
    """A literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def place(beginning: str, record: str = "") -> str:
    """A record's place as people read it: `<beginning>-<partition>-<offset>`, of the row or of a record in it."""
    inside = f"{record}." if record else ""
    return f"concat_ws('-', {beginning}, CAST({inside}partition AS STRING), CAST({inside}offset AS STRING))"


def struct(fields: Iterable[tuple[str, str]]) -> str:
    """From fields' names and expressions."""
    return f"named_struct({', '.join(f'{text(field)}, {expression}' for field, expression in fields)})"
