"""Which columns each table has, and where each comes from. Plain data: no Deephaven here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pointsman.domain.names import TopicNames
from pointsman.domain.spec import ColumnType, JoinType, Source, Spec
from pointsman.domain.status import KEY as STATUS_KEY


class Rule(StrEnum):
    """What the records of a topic mean; the Java `Decoder.Rule` of the same name says it in full."""

    ANY = "ANY"  # every record is a row, whatever its bytes
    APPEND = "APPEND"  # JSON objects, appended
    LATEST = "LATEST"  # JSON objects, the latest per Kafka key
    VIEW = "VIEW"  # a view's changelog
    FINAL = "FINAL"  # a final changelog


@dataclass(frozen=True)
class TableColumn:
    """`origin`: `.field` of the JSON object, or `@key`, `@text`, `@partition`, `@offset`, `@timestamp`."""

    name: str
    kind: str  # the Java `Kind` of this name
    origin: str


@dataclass(frozen=True)
class TopicTable:
    """A table fed by one topic. `bounded`: keeps the newest rows only, and new ones come last."""

    name: str
    topic: str
    rule: Rule
    columns: tuple[TableColumn, ...]
    bounded: bool = True
    only_key: str = ""  # the one Kafka key whose records count; empty for all


KINDS = {
    ColumnType.STRING: "STRING",
    ColumnType.LONG: "LONG",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
}
EVENT_TIME = TableColumn("eventTime", "MILLIS", "._ts")
FINAL = "final_ui"
STATUS = "orchestrator_status"
GENERATIONS = "generations"


def view_name(source: Source) -> str:
    return f"{source.name}_ui"


def data_tables(spec: Spec) -> dict[str, tuple[TableColumn, ...]]:
    """The tables that switch: their columns, which Deephaven's `generation` column follows."""

    def column(name: str, kind: ColumnType) -> TableColumn:
        return TableColumn(name, KINDS[kind], f".{name}")

    views = {
        view_name(source): (*(column(c.name, c.type) for c in source.columns), EVENT_TIME) for source in spec.sources
    }
    return {**views, FINAL: (*(column(c.name, c.type) for c in spec.output_columns), EVENT_TIME)}


def is_bounded(name: str, spec: Spec) -> bool:
    """Views append; so does `final_ui` under as-of, where a row is a record."""
    return name != FINAL or spec.join is JoinType.ASOF


def fields(*names_and_kinds: tuple[str, str]) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name, kind, f".{name}") for name, kind in names_and_kinds)


def status_columns(spec: Spec) -> tuple[TableColumn, ...]:
    topics = ((f"{source.name}Topic", "STRING") for source in spec.sources)
    return fields(
        *topics,
        ("joinType", "STRING"),
        ("lastApplied", "STRING"),
        ("generation", "LONG"),
        ("state", "STRING"),
        ("progress", "STRING"),
        ("lag", "LONG"),
        ("freshness", "DOUBLE"),
        ("lastError", "TEXT"),
        ("rate", "DOUBLE"),
        ("at", "SECONDS"),
    )


def fixed_tables(spec: Spec, names: TopicNames, control_topic: str) -> list[TopicTable]:
    """The tables that do not depend on the live generation."""
    control = fields(*((f"{source.name}Topic", "STRING") for source in spec.sources), ("joinType", "STRING"))
    where = (TableColumn("partition", "LONG", "@partition"), TableColumn("offset", "LONG", "@offset"))
    received = TableColumn("ts", "MILLIS", "@timestamp")
    return [
        TopicTable(STATUS, names.status, Rule.LATEST, status_columns(spec), bounded=False, only_key=STATUS_KEY),
        TopicTable(
            "orchestrator_logs",
            names.journal,
            Rule.APPEND,
            fields(
                ("ts", "SECONDS"),
                ("level", "STRING"),
                ("msg", "TEXT"),
                ("generation", "LONG"),
                ("code", "STRING"),
            ),
        ),
        TopicTable(
            "control_raw",
            control_topic,
            Rule.ANY,
            (*control, TableColumn("raw", "TEXT", "@text"), *where, received),
        ),
        TopicTable(
            "control_verdicts",
            names.verdicts,
            Rule.LATEST,
            fields(
                ("ts", "SECONDS"),
                ("verdict", "STRING"),
                ("reason", "TEXT"),
                ("generation", "LONG"),
                ("durationMs", "LONG"),
                ("requestId", "STRING"),
                ("ignored", "WORDS"),
                ("partition", "LONG"),
                ("offset", "LONG"),
            ),
        ),
        TopicTable(
            "dead_letters",
            names.dead_letters,
            Rule.LATEST,
            fields(
                ("ts", "MILLIS"),
                ("source", "STRING"),
                ("reason", "TEXT"),
                ("detail", "TEXT"),
                ("topic", "STRING"),
                ("partition", "LONG"),
                ("offset", "LONG"),
                ("generation", "LONG"),
                ("length", "LONG"),
                ("payload", "TEXT"),
                ("sha256", "STRING"),
            ),
        ),
    ]


GENERATION_COLUMNS = fields(
    ("generation", "LONG"),
    ("state", "STRING"),
    ("live", "BOOLEAN"),
    ("topics", "STRING"),
    ("joinType", "STRING"),
    ("lingerUntil", "SECONDS"),
    ("reason", "TEXT"),
    ("fingerprint", "STRING"),
)
