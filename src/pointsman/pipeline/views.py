"""Parsed records → the source views' changelogs and the dead letters, told apart by the sink's `topic`."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as Col
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pointsman.domain.generation import Generation
from pointsman.domain.spec import Source

PAYLOAD_BYTES = 65_536


def views(parsed: dict[str, DataFrame], generation: Generation, dead_letters: str, partitions: int) -> DataFrame:
    """Columns topic, partition, key, value: one output record per input record, keyed by the record's position.

    A source partition goes to one view partition, so that a reader sees its records in order.
    """
    frames = [
        _view(parsed[source.name], source, generation, dead_letters, partitions) for source in generation.spec.sources
    ]
    return reduce(DataFrame.unionByName, frames)


def position() -> Col:
    """`<topic>-<partition>-<offset>`: the same after a replay, so that readers see a row once."""
    return F.concat_ws("-", F.col("topic"), F.col("partition").cast("string"), F.col("offset").cast("string"))


def _view(parsed: DataFrame, source: Source, generation: Generation, dead_letters: str, partitions: int) -> DataFrame:
    row = F.to_json(
        F.struct(
            *(F.col(f"row.{c.name}").alias(c.name) for c in source.columns),
            F.col("op").alias("_op"),
            F.col("ts").alias("_ts"),
        )
    )
    size = F.octet_length("value")
    letter = F.to_json(
        F.struct(
            "source",
            "topic",
            "partition",
            "offset",
            "ts",
            F.lit(generation.number).alias("generation"),
            "reason",
            F.base64(F.substring("value", 1, PAYLOAD_BYTES)).alias("payload"),
            size.alias("length"),
            F.when(size > PAYLOAD_BYTES, F.sha2("value", 256)).alias("sha256"),
        )
    )
    good = F.col("reason").isNull()
    return parsed.select(
        F.when(good, F.lit(generation.views[source.name])).otherwise(F.lit(dead_letters)).alias("topic"),
        F.when(good, F.pmod("partition", F.lit(partitions))).otherwise(F.lit(0)).alias("partition"),
        position().alias("key"),
        F.when(good, row).otherwise(letter).alias("value"),
    )
