"""One generation in memory: its changelogs, being read into tables. `release()` ends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pointsman.domain.generation import Generation
from pointsman.tables import schema
from pointsman.tables.jvm import java_type


def j_list(values: Iterable[object]) -> Any:
    result = java_type("java.util.ArrayList")()
    for value in values:
        result.add(value)
    return result


def j_columns(columns: tuple[schema.TableColumn, ...]) -> Any:
    return j_list(j_list((column.name, column.kind, column.origin)) for column in columns)


def j_map(entries: Mapping[str, Any]) -> Any:
    result = java_type("java.util.HashMap")()
    for key, value in entries.items():
        result.put(key, value)
    return result


class LoadedGeneration:
    """Reads from the beginning as soon as it is made. The tables are owned here and live until `release()`."""

    def __init__(self, maker: Any, generation: Generation, consumer: Mapping[str, str], keep_rows: int) -> None:
        self.number = generation.number
        self.definition = schema.data_tables(generation.spec)
        self._topics = {
            **{schema.view_name(generation.spec.source(s)): topic for s, topic in generation.views.items()},
            schema.FINAL: generation.final,
        }
        self._reader = java_type("pointsman.TopicReader")(f"pointsman-g{generation.number}", j_map(consumer))
        self._rows = {
            name: maker.follow(
                self._reader,
                topic,
                (schema.Rule.FINAL if name == schema.FINAL else schema.Rule.VIEW).value,
                "",
                j_columns(self.definition[name]),
                generation.number,
                keep_rows,
                schema.is_bounded(name, generation.spec),
            )
            for name, topic in self._topics.items()
        }
        self._reader.start()

    @property
    def tables(self) -> dict[str, Any]:
        return {name: rows.table() for name, rows in self._rows.items()}

    @property
    def problem(self) -> str:
        return str(self._reader.problem())

    @property
    def refused(self) -> int:
        """Records that were no rows, and were left out."""
        return int(self._reader.refused())

    def has_reached(self, read_to: Mapping[str, Mapping[int, int]]) -> bool:
        """Whether every changelog has been read, and applied, to these offsets."""
        return all(
            self._rows[name].reached(partition, offset)
            for name, topic in self._topics.items()
            for partition, offset in read_to.get(topic, {}).items()
        )

    def release(self) -> None:
        self._reader.close()
        for rows in self._rows.values():
            rows.close()
