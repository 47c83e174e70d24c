"""The reference of the tables says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from pointsman import settings
from pointsman.tables import schema

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"
TYPES = {
    "STRING": "string",
    "TEXT": "string",
    "WORDS": "string",
    "LONG": "long",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "MILLIS": "Instant",
    "SECONDS": "Instant",
}


def documented() -> dict[str, list[tuple[str, str]]]:
    """Table → columns with their types, in the order of the document."""
    found: dict[str, list[tuple[str, str]]] = {}
    for section in re.split(r"^\*\*", DOCUMENT.read_text().split("## What it promises")[0], flags=re.M)[1:]:
        name = re.match(r"`([^`]+)`", section)
        assert name
        rows = re.findall(r"^\| (`.+?`) \| (\w+) \|", section, flags=re.M)
        found[name[1]] = [(column, kind) for names, kind in rows for column in re.findall(r"`(\w+)`", names)]
    return found


def of(columns: tuple[schema.TableColumn, ...]) -> list[tuple[str, str]]:
    return [(column.name, TYPES[column.kind]) for column in columns]


def test_every_fixed_table_is_documented_column_by_column() -> None:
    chosen = settings.load(env={}, flags={})
    tables = {
        table.name: of(table.columns)
        for table in schema.fixed_tables(chosen.spec(), chosen.names, chosen.control.topic)
    }
    tables[schema.GENERATIONS] = of(schema.GENERATION_COLUMNS)
    said = documented()
    assert {name: said.get(name) for name in tables} == tables


def test_the_data_tables_are_documented() -> None:
    said = documented()
    assert "final_ui" in said
    assert said["<source>_ui"] == [("eventTime", "Instant"), ("generation", "long")]
