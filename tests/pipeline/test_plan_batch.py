"""The same plan on small static frames, against the same oracle, with records that hypothesis thinks of."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from pointsman import settings as settings_module
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import JoinType, Source, Spec
from pointsman.pipeline import join, parsing, views
from tests.pipeline.feed import MALFORMED, ODD_BUT_GOOD, WRONG_ACCOUNTS, WRONG_USERS
from tests.pipeline.oracle import Record, final_rows, judge

pytestmark = pytest.mark.spark
SPEC = settings_module.load(env={}).spec()
JOINS = (JoinType.LEFT, JoinType.INNER, JoinType.RIGHT, JoinType.FULL)
SCHEMA = pyarrow.schema(
    [
        ("key", pyarrow.binary()),
        ("value", pyarrow.binary()),
        ("topic", pyarrow.string()),
        ("partition", pyarrow.int32()),
        ("offset", pyarrow.int64()),
        ("timestamp", pyarrow.timestamp("us", tz="UTC")),
    ]
)

keys = strategies.sampled_from(["a", "b", "", "ü", "7", "a b"])
# Numbers with a fraction are left out where a string is expected: the oracle would print them as Python does.
texts = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(-(2**65), 2**65),
    strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=8),
)
scalars = strategies.one_of(texts, strategies.floats(allow_nan=False, allow_infinity=False, width=32))
rows = strategies.fixed_dictionaries(
    {},
    optional={
        "userId": strategies.one_of(keys, texts),
        "name": texts,
        "age": scalars,
        "accountType": texts,
        "balance": scalars,
        "other": strategies.lists(scalars, max_size=2),
    },
).map(lambda row: json.dumps(row, ensure_ascii=False).encode())
values = strategies.one_of(
    strategies.none(),
    rows,
    rows,
    rows,
    strategies.sampled_from(MALFORMED + WRONG_USERS + WRONG_ACCOUNTS + ODD_BUT_GOOD),
    strategies.binary(max_size=12),
)
kafka_keys = strategies.one_of(strategies.none(), keys.map(str.encode), strategies.binary(max_size=3))
batches = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(["users", "accounts"]),
        strategies.integers(0, 1),
        kafka_keys,
        values,
        strategies.integers(0, 5),
    ),
    min_size=1,
    max_size=60,
)


def records_of(batch: list[tuple[str, int, bytes | None, bytes | None, int]]) -> list[Record]:
    found: list[Record] = []
    for source, partition, key, value, ts in batch:
        offset = sum(1 for r in found if (r.source, r.partition) == (source, partition))
        found.append(Record(source, source, partition, offset, ts * 1000, key, value))
    return found


Take = Callable[[DataFrame, Source, int], DataFrame]


def frames_of(spark: SparkSession, records: list[Record], spec: Spec, take: Take) -> dict[str, DataFrame]:
    frames = {}
    for source in spec.sources:
        data = [
            {
                "key": r.key,
                "value": r.value,
                "topic": r.topic,
                "partition": r.partition,
                "offset": r.offset,
                "timestamp": datetime.fromtimestamp(r.ts / 1000, UTC),
            }
            for r in records
            if r.source == source.name
        ]
        # From Arrow, a small frame is a local relation; from Python rows it would be a task per slot.
        frame = spark.createDataFrame(pyarrow.Table.from_pylist(data, schema=SCHEMA))
        frames[source.name] = take(frame, source, 1_048_576)
    return frames


@settings(max_examples=15, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=batches)
def test_every_record_is_judged_as_the_reference_says_and_joined_as_the_oracle_says(
    spark: SparkSession, batch: list[tuple[str, int, bytes | None, bytes | None, int]]
) -> None:
    records = records_of(batch)
    parsed = frames_of(spark, records, SPEC, parsing.parse)
    reasons = reduce(DataFrame.union, (f.select("source", "partition", "offset", "reason") for f in parsed.values()))
    assert {(r.source, r.partition, r.offset): r.reason for r in reasons.collect()} == {
        (r.source, r.partition, r.offset): judge(r, SPEC.source(r.source)).reason for r in records
    }
    frames = frames_of(spark, records, SPEC, parsing.joinable)
    specs = {how.value: SPEC.with_overrides({}, how) for how in JOINS}
    joined = reduce(
        DataFrame.union,
        (join.final(frames, spec).select(lit(how).alias("how"), "key", "value") for how, spec in specs.items()),
    )
    shown: dict[str, dict[str, Any]] = {how: {} for how in specs}
    for how, key, value in joined.collect():
        row = json.loads(value)
        if row.pop("_op") == "u":
            row.pop("_from")
            shown[how][key] = row
    assert shown == {how: final_rows(records, spec) for how, spec in specs.items()}


@pytest.mark.parametrize("how", [JoinType.LEFT, JoinType.ASOF])
def test_the_join_parses_a_record_once(spark: SparkSession, how: JoinType) -> None:
    spec = SPEC.with_overrides({}, how)
    frames = {s.name: parsing.joinable(any_records(spark), s, 1_048_576) for s in spec.sources}
    assert readings(join.final(frames, spec)) == len(spec.sources)


def test_the_views_parse_a_record_once(spark: SparkSession) -> None:
    assert readings(views_of(spark, 1)) == len(SPEC.sources)


def test_the_views_of_the_next_generation_run_the_code_of_the_first(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    compiled = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    views_of(spark, 1).collect()
    before = compiled.getCount()
    assert before > 0
    views_of(spark, 2).collect()
    assert compiled.getCount() == before


def views_of(spark: SparkSession, number: int) -> DataFrame:
    topics = {s.name: f"g{number}.{s.name}" for s in SPEC.sources}
    generation = Generation(number, State.BUILDING, SPEC, topics, "final", "nowhere")
    frames = {s.name: parsing.parse(any_records(spark), s, 1_048_576) for s in SPEC.sources}
    return views.views(frames, generation, "dead", 1)


def any_records(spark: SparkSession) -> DataFrame:
    bytes_ = "cast(string(id) as binary)"
    return spark.range(1).selectExpr(
        f"{bytes_} key",
        f"{bytes_} value",
        "string(id) topic",
        "int(id) partition",
        "id offset",
        "timestamp(id) timestamp",
    )


def readings(frame: DataFrame) -> int:
    """How often the plan has a value read."""
    return int(frame._jdf.queryExecution().executedPlan().toString().count("pointsman_read_"))
