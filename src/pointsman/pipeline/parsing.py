"""Kafka records → parsed records: a row, a tombstone, or a reason why it is neither.

One record in, one record out: nothing is dropped here, so that read = joined + off the join + dead letters.
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
    """Columns: source, topic, partition, offset, ts (ms), value, reason, op, row.

    `reason` is null for a good record. `op` is `u` for a row and `d` for a tombstone. `row` has the
    source's columns; of a tombstone only the key, which is what its Kafka key spells.
    """
    text = F.col("value").cast("string")
    decoded = records.select(
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
    row = F.when(
        F.col("tombstone"),
        F.struct(
            F.col("dead_key").alias(source.columns[0].name),
            *(F.lit(None).cast(SPARK_TYPES[c.type]).alias(c.name) for c in source.columns[1:]),
        ),
    ).otherwise(F.struct(*(F.col(f"json.{c.name}").alias(c.name) for c in source.columns)))
    return decoded.select(
        F.lit(source.name).alias("source"),
        "topic",
        "partition",
        "offset",
        "ts",
        "value",
        _reason(source, max_value_bytes).alias("reason"),
        F.when(F.col("tombstone"), F.lit("d")).otherwise(F.lit("u")).alias("op"),
        row.alias("row"),
    )


def joinable(source: Source) -> Col:
    """Good, and with a key: null and empty keys stay off the join."""
    key = F.col(f"row.{source.columns[0].name}")
    has_key = key.isNotNull() & (key != "") if source.columns[0].type is ColumnType.STRING else key.isNotNull()
    return F.col("reason").isNull() & has_key


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


def _reason(source: Source, max_value_bytes: int) -> Col:
    """A stable code. The common case, a good record, is decided first."""
    value, size, json = F.col("value"), F.octet_length("value"), F.col("json")
    infinite = reduce(
        lambda found, column: found | F.coalesce(F.abs(F.col(f"json.{column.name}")) == float("inf"), F.lit(False)),
        (c for c in source.columns if c.type is ColumnType.DOUBLE),
        F.lit(False),
    )
    text = value.cast("string")
    good = json.isNotNull() & F.col(f"json.{CORRUPT}").isNull() & ~infinite & _one_value(text)
    variant = F.try_parse_json(text)
    kind = F.schema_of_variant(variant)
    return (
        F.when(good, F.lit(None).cast("string"))
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
