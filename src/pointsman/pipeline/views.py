"""Parsed records → the source views' changelogs and the dead letters, told apart by the sink's `topic`."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from pointsman.domain.generation import Generation
from pointsman.domain.spec import Source
from pointsman.pipeline.sql import name, place, struct, text

PAYLOAD_BYTES = 65_536


def views(parsed: dict[str, DataFrame], generation: Generation, dead_letters: str, partitions: int) -> DataFrame:
    """Columns topic, partition, key, value: one output record per input record, keyed by the record's place: the
    same after a replay, so that readers see a row once.

    A source partition goes to one view partition, so that a reader sees its records in order.
    """
    frames = [
        _view(parsed[source.name], source, generation, dead_letters, partitions) for source in generation.spec.sources
    ]
    return reduce(DataFrame.union, frames)


def _view(parsed: DataFrame, source: Source, generation: Generation, dead_letters: str, partitions: int) -> DataFrame:
    row = struct([*((c.name, name("row", c.name)) for c in source.columns), ("_op", "op"), ("_ts", "ts")])
    letter = struct(
        [
            *((field, field) for field in ("source", "topic", "partition", "offset", "ts")),
            # As a decimal: other numbers are part of the code that Spark makes, which would be new and cold each time.
            ("generation", f"CAST({generation.number} AS DECIMAL)"),
            ("reason", "reason"),
            ("payload", f"base64(substring(value, 1, {PAYLOAD_BYTES}))"),
            ("length", "octet_length(value)"),
            ("sha256", f"CASE WHEN octet_length(value) > {PAYLOAD_BYTES} THEN sha2(value, 256) END"),
        ]
    )
    view = generation.views[source.name]
    return parsed.selectExpr(
        f"CASE WHEN reason IS NULL THEN {text(view)} ELSE {text(dead_letters)} END AS topic",
        f"CASE WHEN reason IS NULL THEN pmod(partition, {partitions}) ELSE 0 END AS partition",
        f"{place('topic')} AS key",
        f"CASE WHEN reason IS NULL THEN to_json({row}) ELSE to_json({letter}) END AS value",
    )
