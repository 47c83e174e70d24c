"""Kafka records → parsed records: a row, a tombstone, or a reason why it is neither.

What the views show and what the join takes is judged by the same rules, so that
read = joined + off the join + dead letters. Values are read by a Java function of our own, `RecordReader`: Spark's
`from_json` takes eight kilobytes of memory for every record, and needs three more looks at it to be as strict.
"""

from __future__ import annotations

import hashlib

from pyspark.sql import DataFrame, SparkSession

from pointsman.domain.spec import ColumnType, Source
from pointsman.pipeline.sql import name, struct, text

SQL_TYPES: dict[ColumnType, str] = {
    ColumnType.STRING: "STRING",
    ColumnType.LONG: "BIGINT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
}
LONG_TEXT = r"^[+-]?\d{1,19}$"


def parse(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: source, topic, partition, offset, ts (ms), value, reason, op, row. One record in, one record out.

    `reason` is null for a good record. `op` is `u` for a row and `d` for a tombstone. `row` has the
    source's columns; of a tombstone only the key, which is what its Kafka key spells.
    """
    key, *others = source.columns
    row = struct([(key.name, _key(source)), *((c.name, name("read", "row", c.name)) for c in others)])
    return _decode(records, source, max_value_bytes).selectExpr(
        f"{text(source.name)} AS source",
        "topic",
        "partition",
        "offset",
        "ts",
        "value",
        """CASE
            WHEN NOT tombstone THEN read.reason
            WHEN keyless THEN 'tombstone-without-key'
            WHEN dead_key IS NULL THEN 'tombstone-key-unreadable'
        END AS reason""",
        "CASE WHEN tombstone THEN 'd' ELSE 'u' END AS op",
        f"{row} AS row",
    )


def joinable(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: partition, offset, ts (ms), gone, k, row.

    Good records with a key: null and empty keys stay off the join.
    """
    decoded = _decode(records, source, max_value_bytes).selectExpr(
        "partition", "offset", "ts", "tombstone AS gone", f"{_key(source)} AS k", "read.row AS row"
    )
    # Of what was refused there is no row, and so no key.
    return decoded.where("k != ''" if source.columns[0].type is ColumnType.STRING else "k IS NOT NULL")


def _decode(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    return records.selectExpr(
        "topic",
        "partition",
        "offset",
        "unix_millis(timestamp) AS ts",
        "value",
        "value IS NULL AS tombstone",
        f"{_tombstone_key(source)} AS dead_key",
        "key IS NULL AS keyless",
        f"{_reader(records.sparkSession, source, max_value_bytes)}(value) AS read",
    )


def _reader(spark: SparkSession, source: Source, max_value_bytes: int) -> str:
    """The name of the SQL function value → STRUCT<reason, row> for values of this source."""
    names, types = [c.name for c in source.columns], [c.type.value for c in source.columns]
    columns = ", ".join(f"{name(c.name)}: {SQL_TYPES[c.type]}" for c in source.columns)
    fingerprint = hashlib.sha256(f"{columns} {max_value_bytes}".encode()).hexdigest()[:16]
    function = f"pointsman_read_{fingerprint}"
    jvm = spark._jvm
    assert jvm is not None
    result = jvm.org.apache.spark.sql.types.DataType.fromDDL(f"STRUCT<reason: STRING, row: STRUCT<{columns}>>")
    reader = jvm.pointsman.RecordReader(names, types, max_value_bytes)
    spark._jsparkSession.udf().register(function, reader, result)
    return function


def _key(source: Source) -> str:
    return f"CASE WHEN tombstone THEN dead_key ELSE {name('read', 'row', source.columns[0].name)} END"


def _tombstone_key(source: Source) -> str:
    spelled = "CAST(key AS STRING)"
    if source.columns[0].type is ColumnType.STRING:
        return f"CASE WHEN is_valid_utf8({spelled}) THEN {spelled} END"
    return f"CASE WHEN {spelled} RLIKE {text(LONG_TEXT)} THEN try_cast({spelled} AS BIGINT) END"
