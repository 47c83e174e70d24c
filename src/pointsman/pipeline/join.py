"""Joinable records → the final changelog: one aggregate per key, for any number of sources.

All sources are tagged and united, and one `groupBy(key)` keeps the latest record of each, latest by
(timestamp, partition, offset). In real-time mode that operator emits one row per input record, at once.
Deletes are soft (`_op` = `d`), and every input record is answered by an output record, so `_from` tells how far
the join has read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import assert_never

from pyspark.sql import Column as Col
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pointsman.domain.spec import Column, JoinType, Source, Spec
from pointsman.pipeline.parsing import SPARK_TYPES

ORDER = ("ts", "partition", "offset")


def final(joinable: dict[str, DataFrame], spec: Spec) -> DataFrame:
    """Columns key, value, ready for the Kafka sink."""
    tagged = tag(joinable, spec)
    return asof(tagged, spec) if spec.join is JoinType.ASOF else latest(tagged, spec)


def tag(joinable: dict[str, DataFrame], spec: Spec) -> DataFrame:
    """Columns k, origin (source, partition, offset), and per source a record struct, null in the others' rows."""
    return reduce(DataFrame.union, (_tagged(joinable[s.name], s, spec) for s in spec.sources))


def latest(tagged: DataFrame, spec: Spec) -> DataFrame:
    """One row per key, from the latest record of each source.

    A record starts with its position, which no other record of the source shares: the largest is the latest.
    """
    state = tagged.groupBy("k").agg(
        *(F.max(f"r_{s.name}").alias(f"r_{s.name}") for s in spec.sources),
        F.max("at").alias("_ts"),
        F.count(F.lit(1)).alias("_version"),
        F.last("origin").alias("_from"),
    )
    shown = _shown(spec)
    columns = [
        F.when(shown & _present(source), F.col(f"r_{source.name}.{_field(column)}")).alias(
            spec.output_name(source, column)
        )
        for source in spec.sources
        for column in source.columns[1:]
    ]
    value = F.struct(
        F.col("k").alias(spec.key),
        *columns,
        F.when(shown, F.lit("u")).otherwise(F.lit("d")).alias("_op"),
        "_ts",
        "_version",
        "_from",
    )
    return state.select(F.col("k").cast("string").alias("key"), F.to_json(value).alias("value"))


def asof(tagged: DataFrame, spec: Spec) -> DataFrame:
    """One row per record of the first right source, the other sources as of that record's timestamp.

    Each source keeps its newest `asof_history` records per key. A late record of another source re-emits the
    rows it changes; a row whose timestamp is older than all that is kept finds nothing, and shows nulls.
    """
    fact, others = spec.rights[0], [s for s in spec.sources if s is not spec.rights[0]]
    state = tagged.groupBy("k").agg(
        *(F.max_by(f"r_{s.name}", _order(s), spec.asof_history).alias(f"h_{s.name}") for s in spec.sources),
        F.last(f"r_{fact.name}").alias("fact"),
        *(F.last(f"r_{s.name}").alias(f"now_{s.name}") for s in others),
        F.last("at").alias("at"),
        F.count(F.lit(1)).alias("_version"),
        F.last("origin").alias("_from"),
    )
    history = F.col(f"h_{fact.name}")

    def is_older(record: Col) -> Col:
        return _position(record) < _position(F.col("fact"))

    touched = F.when(
        F.col("fact").isNotNull(),
        F.when(F.col("fact.gone"), F.filter(history, lambda r: ~r["gone"] & is_older(r))).otherwise(F.array("fact")),
    )
    for source in others:
        touched = touched.when(F.col(f"now_{source.name}").isNotNull(), F.filter(history, _changed_by_latest(source)))
    rows = state.withColumn("f", F.explode_outer(touched))
    f = F.col("f")
    shown = f.isNotNull() & ~F.exists(history, lambda r: r["gone"] & (_position(r) > _position(f)))
    columns = []
    for source in spec.sources:
        record = f if source is fact else F.when(~_as_of(source, f)["gone"], _as_of(source, f))
        columns += [
            F.when(shown, record[_field(column)]).alias(spec.output_name(source, column))
            for column in source.columns[1:]
        ]
    value = F.struct(
        F.col("k").alias(spec.key),
        *columns,
        F.when(shown, F.lit("u")).otherwise(F.lit("d")).alias("_op"),
        F.coalesce(f["ts"], F.col("at")).alias("_ts"),
        "_version",
        "_from",
    )
    key = F.concat_ws("-", F.lit(fact.topic), f["partition"].cast("string"), f["offset"].cast("string"))
    # A record that changes no row still says how far the join has read: a delete of a key that is never shown.
    untouched = F.concat(F.lit("~"), F.substring_index("_from", "-", 2))
    return rows.select(F.when(f.isNotNull(), key).otherwise(untouched).alias("key"), F.to_json(value).alias("value"))


def _tagged(joinable: DataFrame, source: Source, spec: Spec) -> DataFrame:
    record = F.struct(*ORDER, "gone", *(F.col(f"json.{c.name}").alias(_field(c)) for c in source.columns[1:]))
    position = F.col("partition").cast("string"), F.col("offset").cast("string")
    return joinable.select(
        "k",
        F.concat_ws("-", F.lit(source.name), *position).alias("origin"),
        F.col("ts").alias("at"),
        *((record if s is source else F.lit(None).cast(_record_type(s))).alias(f"r_{s.name}") for s in spec.sources),
    )


def _field(column: Column) -> str:
    """A column's name in a record: a source may well have a column called `ts` or `offset`."""
    return f"c_{column.name}"


def _record_type(source: Source) -> T.StructType:
    return T.StructType(
        [
            T.StructField("ts", T.LongType()),
            T.StructField("partition", T.IntegerType()),
            T.StructField("offset", T.LongType()),
            T.StructField("gone", T.BooleanType()),
            *(T.StructField(_field(c), SPARK_TYPES[c.type]) for c in source.columns[1:]),
        ]
    )


def _order(source: Source) -> Col:
    """Null in the rows of other sources, which max_by then passes over."""
    record = F.col(f"r_{source.name}")
    return F.when(record.isNotNull(), _position(record))


def _position(record: Col) -> Col:
    return F.struct(*(record[name].alias(name) for name in ORDER))


def _as_of(source: Source, record: Col) -> Col:
    """The newest kept record of the source that is not newer than this one's timestamp; null if there is none."""
    return F.get(F.filter(F.col(f"h_{source.name}"), lambda r: r["ts"] <= record["ts"]), F.lit(0))


def _changed_by_latest(source: Source) -> Callable[[Col], Col]:
    """Is the record that has just come the one that a row finds as of its timestamp?"""

    def changed(record: Col) -> Col:
        return ~record["gone"] & (_position(_as_of(source, record)) == _position(F.col(f"now_{source.name}")))

    return changed


def _present(source: Source) -> Col:
    return F.coalesce(~F.col(f"r_{source.name}.gone"), F.lit(False))


def _shown(spec: Spec) -> Col:
    left, rights = _present(spec.left), [_present(s) for s in spec.rights]
    match spec.join:
        case JoinType.LEFT | JoinType.NATURAL:
            return left
        case JoinType.INNER:
            return reduce(Col.__and__, rights, left)
        case JoinType.RIGHT:
            return reduce(Col.__or__, rights)
        case JoinType.FULL:
            return reduce(Col.__or__, rights, left)
        case JoinType.ASOF:
            raise AssertionError("as-of has a plan of its own")
        case never:
            assert_never(never)
