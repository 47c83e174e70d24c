"""Columns proposed from records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pointsman.domain.inference import common_key, infer
from pointsman.domain.record import problem
from pointsman.domain.spec import Column, ColumnType, Source

LONG, DOUBLE, STRING, BOOLEAN = ColumnType.LONG, ColumnType.DOUBLE, ColumnType.STRING, ColumnType.BOOLEAN


def rows(*values: Any) -> list[bytes]:
    return [json.dumps({"a": value}).encode() for value in values]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], LONG),
        ([1, 2.5], DOUBLE),
        ([True, None], BOOLEAN),
        (["x"], STRING),
        ([1, "x"], STRING),
        ([True, 1], STRING),
        ([2**63], DOUBLE),
        ([{"b": 1}], STRING),
        ([None], STRING),
    ],
)
def test_the_narrowest_type_that_takes_every_value(values: list[Any], kind: ColumnType) -> None:
    found = infer(rows(*values))
    assert found.columns == {"a": kind}
    source = Source("s", "t", (Column("a", kind),))
    assert [value for value in rows(*values) if problem(value, source)] == []


def test_what_is_no_object_is_passed_over_and_columns_keep_their_order() -> None:
    found = infer([b'{"b": 1}', b"{", b"[]", None, b"\xff", b"[" * 100_000, b'{"a": 2, "b": 3}'])
    assert list(found.columns) == ["b", "a"]
    assert found.records == 2


def test_fields_that_cannot_be_columns_are_named_with_the_reason() -> None:
    found = infer([b'{"a-b": 1, "eventTime": 2, "x": 3, "X": 4}'])
    assert list(found.columns) == ["x"]
    assert set(found.left_out) == {"a-b", "eventTime", "X"}


def test_the_key_is_the_preferred_one_or_the_first_that_all_share() -> None:
    assert common_key({"a": {"x": LONG, "id": STRING}, "b": {"id": STRING, "x": LONG}}, "id") == "id"
    assert common_key({"a": {"x": LONG, "y": STRING}, "b": {"y": STRING, "x": STRING}}, "id") == "y"
    assert common_key({"a": {"x": DOUBLE}, "b": {"x": DOUBLE}}, "x") is None


def test_a_sample_that_is_nested_too_deep_is_refused_like_any_other_that_cannot_be_read() -> None:
    assert problem(b'{"a":' + b"[" * 100_000, Source("s", "t", (Column("a", STRING),))) == "is not JSON"
