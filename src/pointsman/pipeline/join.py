"""Joinable records → the final changelog: one aggregate per key, for any number of sources.

All sources are tagged and united, and one `groupBy(key)` keeps the latest record of each, latest by
(timestamp, partition, offset). In real-time mode that operator emits one row per input record, at once.
Deletes are soft (`_op` = `d`), and every input record is answered by an output record, so `_from` tells how far
the join has read.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pointsman.domain.spec import Column, JoinType, Source, Spec
from pointsman.pipeline.parsing import SQL_TYPES
from pointsman.pipeline.sql import name, place, struct, text

ORDER = ("ts", "partition", "offset")
MARKS = (("_version", "_version"), ("_from", "_from"))


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
    state = _state(
        tagged,
        *(f"max({_record(s)}) AS {_record(s)}" for s in spec.sources),
        "max(at) AS _ts",
        "count(1) AS _version",
        "last(origin) AS _from",
    )
    shown = _shown(spec)
    columns = (
        (
            spec.output_name(source, column),
            f"CASE WHEN {shown} AND {_present(source)} THEN {_record(source)}.{_field(column)} END",
        )
        for source in spec.sources
        for column in source.columns[1:]
    )
    value = struct([(spec.key, "k"), *columns, ("_op", _op(shown)), ("_ts", "_ts"), *MARKS])
    return state.selectExpr("CAST(k AS STRING) AS key", f"to_json({value}) AS value")


def asof(tagged: DataFrame, spec: Spec) -> DataFrame:
    """One row per record of the first right source, the other sources as of that record's timestamp.

    Each source keeps its newest `asof_history` records per key. A late record of another source re-emits the
    rows it changes; a row whose timestamp is older than all that is kept finds nothing, and shows nulls.
    """
    fact, others = spec.rights[0], [s for s in spec.sources if s is not spec.rights[0]]
    state = _state(
        tagged,
        *(f"max_by({_record(s)}, {_order(s)}, {spec.asof_history}) AS {_history(s)}" for s in spec.sources),
        f"last({_record(fact)}) AS fact",
        *(f"last({_record(s)}) AS {_now(s)}" for s in others),
        "last(at) AS at",
        "count(1) AS _version",
        "last(origin) AS _from",
    )
    history = _history(fact)
    older = f"filter({history}, r -> NOT r.gone AND {_position('r')} < {_position('fact')})"
    changed = (f"WHEN {_now(s)} IS NOT NULL THEN filter({history}, r -> {_changed_by_latest(s, 'r')})" for s in others)
    touched = f"""
        CASE
            WHEN fact IS NOT NULL THEN CASE WHEN fact.gone THEN {older} ELSE array(fact) END
            {" ".join(changed)}
        END"""
    rows = state.selectExpr("*", f"explode_outer({touched}) AS f")
    shown = f"(f IS NOT NULL AND NOT exists({history}, r -> r.gone AND {_position('r')} > {_position('f')}))"
    columns = (
        (
            spec.output_name(source, column),
            f"CASE WHEN {shown} THEN {_shown_as_of(source, fact)}.{_field(column)} END",
        )
        for source in spec.sources
        for column in source.columns[1:]
    )
    value = struct([(spec.key, "k"), *columns, ("_op", _op(shown)), ("_ts", "coalesce(f.ts, at)"), *MARKS])
    # A record that changes no row still says how far the join has read: a delete of a key that is never shown.
    untouched = "concat('~', substring_index(_from, '-', 2))"
    return rows.selectExpr(
        f"CASE WHEN f IS NOT NULL THEN {place(text(fact.topic), 'f')} ELSE {untouched} END AS key",
        f"to_json({value}) AS value",
    )


def _state(tagged: DataFrame, *aggregates: str) -> DataFrame:
    return tagged.groupBy("k").agg(*(F.expr(aggregate) for aggregate in aggregates))


def _tagged(joinable: DataFrame, source: Source, spec: Spec) -> DataFrame:
    fields = ((_plain(c), name("row", c.name)) for c in source.columns[1:])
    record = struct([*((field, field) for field in (*ORDER, "gone")), *fields])
    return joinable.selectExpr(
        "k",
        f"{place(text(source.name))} AS origin",
        "ts AS at",
        *(f"{record if s is source else f'CAST(NULL AS {_record_type(s)})'} AS {_record(s)}" for s in spec.sources),
    )


def _record(source: Source) -> str:
    return name(f"r_{source.name}")


def _history(source: Source) -> str:
    return name(f"h_{source.name}")


def _now(source: Source) -> str:
    return name(f"now_{source.name}")


def _plain(column: Column) -> str:
    """A column's name in a record: a source may well have a column called `ts` or `offset`."""
    return f"c_{column.name}"


def _field(column: Column) -> str:
    return name(_plain(column))


def _record_type(source: Source) -> str:
    columns = (f"{_field(c)}: {SQL_TYPES[c.type]}" for c in source.columns[1:])
    return f"STRUCT<{', '.join(('ts: BIGINT', 'partition: INT', 'offset: BIGINT', 'gone: BOOLEAN', *columns))}>"


def _order(source: Source) -> str:
    """Null in the rows of other sources, which max_by then passes over."""
    return f"CASE WHEN {_record(source)} IS NOT NULL THEN {_position(_record(source))} END"


def _position(record: str) -> str:
    return struct((part, f"{record}.{part}") for part in ORDER)


def _as_of(source: Source, record: str) -> str:
    """The newest kept record of the source that is not newer than this one's timestamp; null if there is none."""
    return f"get(filter({_history(source)}, kept -> kept.ts <= {record}.ts), 0)"


def _shown_as_of(source: Source, fact: Source) -> str:
    if source is fact:
        return "f"
    found = _as_of(source, "f")
    return f"(CASE WHEN NOT {found}.gone THEN {found} END)"


def _changed_by_latest(source: Source, record: str) -> str:
    """Is the record that has just come the one that a row finds as of its timestamp?"""
    return f"NOT {record}.gone AND {_position(_as_of(source, record))} = {_position(_now(source))}"


def _op(shown: str) -> str:
    return f"CASE WHEN {shown} THEN 'u' ELSE 'd' END"


def _present(source: Source) -> str:
    return f"coalesce(NOT {_record(source)}.gone, false)"


def _shown(spec: Spec) -> str:
    left, rights = _present(spec.left), [_present(s) for s in spec.rights]
    match spec.join:
        case JoinType.LEFT | JoinType.NATURAL:
            return left
        case JoinType.INNER:
            return f"({' AND '.join((left, *rights))})"
        case JoinType.RIGHT:
            return f"({' OR '.join(rights)})"
        case JoinType.FULL:
            return f"({' OR '.join((left, *rights))})"
        case JoinType.ASOF:
            raise AssertionError("as-of has a plan of its own")
        case never:
            assert_never(never)
