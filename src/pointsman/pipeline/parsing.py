"""Kafka records → parsed records: a row, a tombstone, or a reason why it is neither.

What the views show and what the join takes is judged by the same rules, so that
read = joined + off the join + dead letters.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from pointsman.domain.spec import ColumnType, Source
from pointsman.pipeline.sql import name, struct, text

SQL_TYPES: dict[ColumnType, str] = {
    ColumnType.STRING: "STRING",
    ColumnType.LONG: "BIGINT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
}
CORRUPT = "_corrupt"
JSON_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": CORRUPT,
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}
LONG_TEXT = r"^[+-]?\d{1,19}$"
SIZE, TEXT = "octet_length(value)", "CAST(value AS STRING)"
# Nothing follows the first JSON value, which Spark's own parser does not look at. Where the first brace that closes is
# the last character, that is plain; only the others are scanned.
ONE_VALUE = (
    f"(instr({TEXT}, '}}') = length({TEXT}) OR coalesce(json_array_length(concat('[', {TEXT}, ']')) = 1, false))"
)


def parse(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: source, topic, partition, offset, ts (ms), value, reason, op, row. One record in, one record out.

    `reason` is null for a good record. `op` is `u` for a row and `d` for a tombstone. `row` has the
    source's columns; of a tombstone only the key, which is what its Kafka key spells.
    """
    key, *others = source.columns
    row = struct([(key.name, _key(source)), *((c.name, name("json", c.name)) for c in others)])
    return _decode(records, source, max_value_bytes).selectExpr(
        f"{text(source.name)} AS source",
        "topic",
        "partition",
        "offset",
        "ts",
        "value",
        f"{_reason(source, max_value_bytes)} AS reason",
        "CASE WHEN tombstone THEN 'd' ELSE 'u' END AS op",
        f"{row} AS row",
    )


def joinable(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    """Columns: partition, offset, ts (ms), gone, k, json.

    Good records with a key: null and empty keys stay off the join. Judges as `parse` does, without the words for
    it: the smaller the plan, the shorter the pause at a checkpoint.
    """
    decoded = _decode(records, source, max_value_bytes).selectExpr(
        "partition",
        "offset",
        "ts",
        "tombstone AS gone",
        f"tombstone OR {_is_good(source)} AS good",
        f"{_key(source)} AS k",
        "json",
    )
    has_key = "k != ''" if source.columns[0].type is ColumnType.STRING else "k IS NOT NULL"
    return decoded.where(f"good AND {has_key}").drop("good")


def _decode(records: DataFrame, source: Source, max_value_bytes: int) -> DataFrame:
    worth_parsing = f"{SIZE} > 0 AND {SIZE} <= {max_value_bytes} AND is_valid_utf8({TEXT})"
    options = ", ".join(f"{text(option)}, {text(value)}" for option, value in JSON_OPTIONS.items())
    return records.selectExpr(
        "topic",
        "partition",
        "offset",
        "unix_millis(timestamp) AS ts",
        "value",
        "value IS NULL AS tombstone",
        f"{_tombstone_key(source)} AS dead_key",
        "key IS NULL AS keyless",
        f"CASE WHEN {worth_parsing} THEN from_json({TEXT}, {text(_schema(source))}, map({options})) END AS json",
    )


def _key(source: Source) -> str:
    return f"CASE WHEN tombstone THEN dead_key ELSE {name('json', source.columns[0].name)} END"


def _schema(source: Source) -> str:
    return ", ".join(f"{name(c.name)} {SQL_TYPES[c.type]}" for c in source.columns) + f", {name(CORRUPT)} STRING"


def _tombstone_key(source: Source) -> str:
    spelled = "CAST(key AS STRING)"
    if source.columns[0].type is ColumnType.STRING:
        return f"CASE WHEN is_valid_utf8({spelled}) THEN {spelled} END"
    return f"CASE WHEN {spelled} RLIKE {text(LONG_TEXT)} THEN try_cast({spelled} AS BIGINT) END"


def _is_good(source: Source) -> str:
    doubles = (name("json", c.name) for c in source.columns if c.type is ColumnType.DOUBLE)
    finite = (f"NOT coalesce(abs({double}) = CAST('Infinity' AS DOUBLE), false)" for double in doubles)
    whole = f"json IS NOT NULL AND {name('json', CORRUPT)} IS NULL"
    return f"({' AND '.join((whole, *finite, ONE_VALUE))})"


def _reason(source: Source, max_value_bytes: int) -> str:
    """A stable code. The common case, a good record, is decided first."""
    return f"""
        CASE
            WHEN {_is_good(source)} THEN CAST(NULL AS STRING)
            WHEN tombstone THEN
                CASE WHEN keyless THEN 'tombstone-without-key' WHEN dead_key IS NULL THEN 'tombstone-key-unreadable' END
            WHEN {SIZE} = 0 THEN 'empty'
            WHEN {SIZE} > {max_value_bytes} THEN 'too-large'
            WHEN NOT is_valid_utf8({TEXT}) THEN 'bad-utf8'
            WHEN try_parse_json({TEXT}) IS NULL OR NOT {ONE_VALUE} THEN 'not-json'
            WHEN NOT startswith(schema_of_variant(try_parse_json({TEXT})), 'OBJECT') THEN 'not-an-object'
            ELSE 'wrong-type'
        END"""
