"""The application that Deephaven loads: every table that viewers can open, and the thread that moves them."""

from __future__ import annotations

import logging
from typing import Any

from pointsman.broker import security
from pointsman.domain.catalog import Catalog
from pointsman.domain.spec import Spec
from pointsman.domain.status import KEY as STATUS_KEY
from pointsman.settings import Connection, Settings
from pointsman.tables import schema
from pointsman.tables.jvm import java_type
from pointsman.tables.loaded import LoadedGeneration, j_columns, j_list, j_map

log = logging.getLogger(__name__)
FIXED_ROWS = 10_000
CONSUMER = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
    "isolation.level": "read_committed",
    "max.poll.records": "10000",
    "max.partition.fetch.bytes": "4194304",
    "fetch.max.wait.ms": "500",
    "receive.buffer.bytes": "1048576",
    "client.id": "pointsman-tables",
}


def consumer_properties(kafka: Connection) -> dict[str, str]:
    """For the Java consumer in this process. They hold secrets, and are for nobody else."""
    found = security.java(kafka)
    return {**found.plain, **found.secret, **CONSUMER}


class Application:
    """Owns every live table of the process. `show` is the one way to change what viewers see."""

    instance: Application | None = None

    def __init__(self, settings: Settings, spec: Spec) -> None:
        self.settings = settings
        self.spec = spec
        self.definition = schema.data_tables(spec)
        self.consumer = consumer_properties(settings.own_cluster)
        self.state: Any = None  # Deephaven's, with the fields that viewers can open
        self._maker: Any = None
        self._stable: Any = None
        self._readers: list[Any] = []
        self._generations: Any = None
        self._listed: set[int] = set()
        self._kept: list[Any] = []

    def build(self) -> dict[str, Any]:
        """Table name → Java table. Called once, by the application script, on Deephaven's own thread."""
        self._maker = java_type("pointsman.Tables")()
        self._stable = self._maker.stable()
        exported = {name: self._stable.add(name, self._definition(name)) for name in self.definition}
        names = self.settings.names
        fixed = self._reader("pointsman-fixed", self.settings.own_cluster)
        elsewhere = self.settings.control_cluster is not self.settings.own_cluster
        control = self._reader("pointsman-control", self.settings.control_cluster) if elsewhere else fixed
        for table in schema.fixed_tables(self.spec, names, self.settings.control.topic):
            rows = self._maker.follow(
                control if table.topic == self.settings.control.topic else fixed,
                table.topic,
                table.rule.value,
                table.only_key,
                j_columns(table.columns),
                -1,
                FIXED_ROWS,
                table.bounded,
            )
            self._kept.append(rows)
            if table.name == schema.STATUS:
                self._placeholder(rows)
            # What happened last is what people look for first.
            exported[table.name] = rows.table() if table.name == schema.STATUS else rows.newestFirst()
        self._generations = self._maker.rows(j_columns(schema.GENERATION_COLUMNS))
        exported[schema.GENERATIONS] = self._generations.largestFirst("generation")
        for reader in self._readers:
            reader.start()
        return exported

    def load(self, generation: Any) -> LoadedGeneration:
        return LoadedGeneration(self._maker, generation, self.consumer, self.settings.tables.keep_rows)

    def show(self, generation: LoadedGeneration) -> None:
        """In the next update cycle, every data table holds this generation's rows."""
        self._stable.show(j_map(generation.tables))

    @property
    def is_settled(self) -> bool:
        """Whether the cycle of the last `show` is over."""
        return bool(self._stable.isSettled())

    @property
    def refused(self) -> int:
        """Records of the topics that do not depend on a generation that were no rows, and were left out."""
        return sum(int(reader.refused()) for reader in self._readers)

    @property
    def viewers(self) -> int | None:
        """Clients that have a table open and follow it; None where the server does not tell."""
        found = int(java_type("pointsman.Viewers").count())
        return None if found < 0 else found

    def list_generations(self, catalog: Catalog) -> None:
        """Makes the table of generations say what the catalog says."""
        for generation in catalog.generations.values():
            topics = ", ".join(f"{s.name}={s.topic}" for s in generation.spec.sources)
            values = (
                generation.number,
                generation.state.value,
                generation.number == catalog.live,
                topics,
                generation.spec.join.value,
                None if generation.linger_until is None else round(generation.linger_until * 1e6) * 1000,
                generation.reason,
                generation.spec.fingerprint,
            )
            self._generations.put(str(generation.number), 0, j_list(values))
        for number in self._listed - set(catalog.generations):
            self._generations.put(str(number), 0, None)
        self._listed = set(catalog.generations)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    def _reader(self, name: str, kafka: Connection) -> Any:
        reader = java_type("pointsman.TopicReader")(name, j_map(consumer_properties(kafka)))
        self._readers.append(reader)
        return reader

    def _definition(self, name: str) -> Any:
        return java_type("pointsman.Tables").definition(j_columns(self.definition[name]))

    def _placeholder(self, rows: Any) -> None:
        values = {f"{source.name}Topic": source.topic for source in self.spec.sources}
        values |= {"joinType": self.spec.join.value, "state": "STARTING", "progress": "", "lastError": ""}
        columns = schema.status_columns(self.spec)
        rows.put(STATUS_KEY, -1, j_list(values.get(column.name) for column in columns))


def export() -> None:
    """Run by the application script: makes the tables and hands them to Deephaven as application fields."""
    application = Application.instance
    if application is None:
        raise RuntimeError("the tables server was not started by pointsman")
    application.state = java_type("io.deephaven.appmode.ApplicationContext").get()
    for name, table in application.build().items():
        application.state.setField(name, table)
