"""A source's columns may be called anything: no name is taken by the plan itself."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from pointsman import settings
from pointsman.domain.spec import JoinType
from pointsman.pipeline import join, parsing
from tests.pipeline.oracle import final_rows
from tests.pipeline.test_plan_batch import frames_of, records_of

pytestmark = pytest.mark.spark
NAMES = ("ts", "partition", "offset", "gone", "k", "origin", "at", "f", "fact", "value", "key", "row", "json", "topic")


@pytest.mark.parametrize("how", [JoinType.FULL, JoinType.ASOF])
def test_columns_may_have_the_names_that_the_plan_uses_inside(spark: SparkSession, how: JoinType) -> None:
    columns = dict.fromkeys(NAMES, "long")
    sources = {"users": {"columns": columns}, "accounts": {"columns": columns}}
    spec = settings.load(env={}, flags={"sources": sources, "join": {"type": how}}).spec()
    values = [json.dumps({"userId": "a"} | {name: n + i for i, name in enumerate(NAMES)}).encode() for n in (0, 100)]
    records = records_of([("users", 0, None, values[0], 1), ("accounts", 1, None, values[1], 2)])
    shown = {}
    for key, value in join.final(frames_of(spark, records, spec, parsing.joinable), spec).collect():
        row = json.loads(value)
        assert row.pop("_op") == "u"
        row.pop("_from")
        if how is JoinType.ASOF:
            row.pop("_version")
        shown[key] = row
    assert shown == final_rows(records, spec)
