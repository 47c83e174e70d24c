"""Values at the edge of JSON, each judged as the reference says."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from pointsman import settings as settings_module
from pointsman.pipeline import parsing
from tests.pipeline.oracle import Record
from tests.pipeline.test_plan_batch import frames_of

pytestmark = pytest.mark.spark
COLUMNS = {"userId": "string", "name": "string", "age": "long", "balance": "double", "active": "boolean"}
SPEC = settings_module.load(env={}, flags={"sources": {"users": {"columns": COLUMNS}}}).spec()
DEEP = 1_000  # levels, the most that are read
LONG_TEXT, DIGITS = "9" * 900_000, ",-0,1E+2147483648,0.0000001"


def read(spark: SparkSession, *values: bytes) -> list[Row]:
    records = [Record("users", "users", 0, n, 0, None, value) for n, value in enumerate(values)]
    frame = frames_of(spark, records, SPEC, parsing.parse)["users"]
    return frame.orderBy("offset").select("reason", "row").collect()


@pytest.mark.parametrize(
    ("reason", "values"),
    [
        (
            "not-json",
            [
                b" ",
                b"\xef\xbb\xbf{}",
                '{"userId":"a"}'.encode("utf-16-le"),
                '{"userId":"a"}'.encode("utf-32-be"),
                b"{}\0",
                b"\0{}",
                b"1 2",
                b"[1,2]]",
                b'{"age":1.}',
                b'{"age":+1}',
                b'{"age":01}',
                b'{"name":"\t"}',
                b'{"name":"\\x"}',
                b'{"balance":Infinity}',
                b'{"age":"text"} and more',
                b'{"age":"text",}',
                b'{"name":{"a":1}',
                b'{"name":1e}',
                b"[" * (DEEP + 1) + b"]" * (DEEP + 1),
                b'{"name":' + b"[" * DEEP + b"]" * DEEP + b"}",
                b'{"other":' + b'{"o":' * 200_000,
            ],
        ),
        ("not-an-object", [b"0", b'""', b"true", b"[{}]", b" null ", b"[" * DEEP + b"]" * DEEP]),
        ("bad-utf8", [b'{"name":"\xff"}', b'{"name":"\xed\xa0\x80"}', b'{"name":"\xc0\xaf"}', b"\xff\xfe{\0}\0"]),
        (
            "wrong-type",
            [
                b'{"age":"1","age":1}',
                b'{"age":1,"age":"1"}',
                b'{"age":-0.0}',
                b'{"age":' + LONG_TEXT.encode() + b"}",
                b'{"age":-9223372036854775809}',
                b'{"balance":-1e999}',
                b'{"balance":true}',
                b'{"balance":{"a":1}}',
                b'{"active":"true"}',
                b'{"active":1}',
                b'{"active":[true]}',
            ],
        ),
    ],
)
def test_what_is_no_row_is_refused_for_the_first_reason_that_holds(
    spark: SparkSession, reason: str, values: list[bytes]
) -> None:
    assert [row.reason for row in read(spark, *values)] == [reason] * len(values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"name":1.10}', {"name": "1.10"}),
        (b'{"name":1e2}', {"name": "1e2"}),
        (b'{"name":' + LONG_TEXT.encode() + b"}", {"name": LONG_TEXT}),
        (b'{"name": [ 1.10, {"a" : null}, "\\u00e9" ] }', {"name": '[1.10,{"a":null},"é"]'}),
        (b'{"name":[' + LONG_TEXT.encode() + DIGITS.encode() + b"]}", {"name": f"[{LONG_TEXT}{DIGITS}]"}),
        (b'{"name":' + b"[" * (DEEP - 1) + b"]" * (DEEP - 1) + b"}", {"name": "[" * (DEEP - 1) + "]" * (DEEP - 1)}),
        (b'{"other":' + b'{"o":' * (DEEP - 1) + b"1" + b"}" * (DEEP - 1) + b',"age":1}', {"age": 1}),
        (b'{"' + b"n" * 900_000 + b'":1,"age":1}', {"age": 1}),
        (b'{"name":"\\ud800"}', {"name": "?"}),
        (b'{"name":"a\\u0000b"}', {"name": "a\0b"}),
        (b'{"age":-9223372036854775808,"balance":9223372036854775808}', {"age": -(2**63), "balance": 2.0**63}),
        (b'{"balance":' + LONG_TEXT[:300].encode() + b"}", {"balance": float(LONG_TEXT[:300])}),
        (b'{"balance":4.9e-324}', {"balance": 5e-324}),
        (b'{"age":1,"age":2,"age":3}', {"age": 3}),
        (b'{"name":"a","name":null}', {}),
        (b'{"active":false}', {"active": False}),
        (b'{"\\u0061ge":7}', {"age": 7}),
    ],
    ids=lambda found: repr(found)[:40],
)
def test_what_is_a_row_comes_out_as_it_was_sent(spark: SparkSession, value: bytes, expected: dict[str, Any]) -> None:
    [row] = read(spark, value)
    assert row.reason is None
    assert {name: found for name, found in row.row.asDict().items() if found is not None} == expected
