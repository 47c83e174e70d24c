"""Kafka records → parsed records: a row, a tombstone, or a reason why it is neither.

What the views show and what the join takes is judged by the same rules, so that
read = joined + off the join + dead letters.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as Col
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pointsman.domain.spec import ColumnType, Source

SPARK_TYPES: dict[ColumnType, T.DataType] = {
    ColumnType.STRING: T.StringType(),
    ColumnType.LONG: T.LongType(),
    ColumnType.DOUBLE: T.DoubleType(),
    ColumnType.BOOLEAN: T.BooleanType(),
}
CORRUPT = "_corrupt"
JSON_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": CORRUPT,
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}
LONG_TEXT = r"^[+-]?\d{1,19}$"


def parse(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: source, topic, partition, offset, ts (ms), value, reason, op, row. One record in, one record out.

    `reason` is null for a good record. `op` is `u` for a row and `d` for a tombstone. `row` has the
    source's columns; of a tombstone only the key, which is what its Kafka key spells.
    """
    key = source.columns[0]
    return _decode(records, source, max_value_bytes).select(
        F.lit(source.name).alias("source"),
        "topic",
        "partition",
        "offset",
        "ts",
        "value",
        _reason(source, max_value_bytes).alias("reason"),
        F.when(F.col("tombstone"), F.lit("d")).otherwise(F.lit("u")).alias("op"),
        F.struct(
            _key(source).alias(key.name), *(F.col(f"json.{c.name}").alias(c.name) for c in source.columns[1:])
        ).alias("row"),
    )


def joinable(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: partition, offset, ts (ms), gone, k, json.

    Good records with a key: null and empty keys stay off the join. Judges as `parse` does, without the words for
    it: the smaller the plan, the shorter the pause at a checkpoint.
    """
    decoded = _decode(records, source, max_value_bytes).select(
        "partition",
        "offset",
        "ts",
        F.col("tombstone").alias("gone"),
        (F.col("tombstone") | _is_good(source)).alias("good"),
        _key(source).alias("k"),
        "json",
    )
    has_key = F.col("k") != "" if source.columns[0].type is ColumnType.STRING else F.col("k").isNotNull()
    return decoded.where(F.col("good") & has_key).drop("good")


def _decode(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    text = F.col("value").cast("string")
    return records.select(
        "topic",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("ts"),
        "value",
        F.col("value").isNull().alias("tombstone"),
        _tombstone_key(source).alias("dead_key"),
        F.col("key").isNull().alias("keyless"),
        F.when(_worth_parsing(max_value_bytes), F.from_json(text, _schema(source), JSON_OPTIONS)).alias("json"),
    )


def _key(source: Source) -> Col:
    return F.when(F.col("tombstone"), F.col("dead_key")).otherwise(F.col(f"json.{source.columns[0].name}"))


def _schema(source: Source) -> T.StructType:
    fields = [T.StructField(c.name, SPARK_TYPES[c.type]) for c in source.columns]
    return T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])


def _worth_parsing(max_value_bytes: int) -> Col:
    value = F.col("value")
    size = F.octet_length(value)
    return (size > 0) & (size <= max_value_bytes) & F.is_valid_utf8(value.cast("string"))


def _tombstone_key(source: Source) -> Col:
    text = F.col("key").cast("string")
    if source.columns[0].type is ColumnType.STRING:
        return F.when(F.is_valid_utf8(text), text)
    return F.when(text.rlike(LONG_TEXT), text.try_cast("long"))


def _is_good(source: Source) -> Col:
    infinite = reduce(
        lambda found, column: found | F.coalesce(F.abs(F.col(f"json.{column.name}")) == float("inf"), F.lit(False)),
        (c for c in source.columns if c.type is ColumnType.DOUBLE),
        F.lit(False),
    )
    whole = F.col("json").isNotNull() & F.col(f"json.{CORRUPT}").isNull()
    return whole & ~infinite & _one_value(F.col("value").cast("string"))


def _reason(source: Source, max_value_bytes: int) -> Col:
    """A stable code. The common case, a good record, is decided first."""
    size, text = F.octet_length("value"), F.col("value").cast("string")
    variant = F.try_parse_json(text)
    kind = F.schema_of_variant(variant)
    return (
        F.when(_is_good(source), F.lit(None).cast("string"))
        .when(
            F.col("tombstone"),
            F.when(F.col("keyless"), F.lit("tombstone-without-key")).when(
                F.col("dead_key").isNull(), F.lit("tombstone-key-unreadable")
            ),
        )
        .when(size == 0, F.lit("empty"))
        .when(size > max_value_bytes, F.lit("too-large"))
        .when(~F.is_valid_utf8(text), F.lit("bad-utf8"))
        .when(variant.isNull() | ~_one_value(text), F.lit("not-json"))
        .when(~kind.startswith("OBJECT"), F.lit("not-an-object"))
        .otherwise(F.lit("wrong-type"))
    )


def _one_value(text: Col) -> Col:
    """Nothing follows the first JSON value, which Spark's own parser does not look at.

    Where the first brace that closes is the last character, that is plain; only the others are scanned.
    """
    scanned = F.coalesce(F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1, F.lit(False))
    return (F.instr(text, "}") == F.length(text)) | scanned
