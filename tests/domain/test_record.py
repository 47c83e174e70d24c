"""What a sample of a source's newest records is found to be."""

from __future__ import annotations

import pytest

from pointsman.domain.record import problem
from pointsman.domain.spec import Column, ColumnType, Source

SOURCE = Source(
    "accounts",
    "raw.accounts",
    (Column("userId", ColumnType.STRING), Column("number", ColumnType.LONG), Column("balance", ColumnType.DOUBLE)),
)
LONG_NUMBER = b"9" * 5_000  # Python would not read so many digits


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"{}",
        b'{"userId": "u1", "number": 7, "balance": 7, "more": [1]}',
        b'{"userId": 7}',
        b'{"userId": ' + LONG_NUMBER + b"}",
        b'{"more": ' + LONG_NUMBER + b"}",
    ],
)
def test_what_spark_would_take_is_no_problem(value: bytes | None) -> None:
    assert problem(value, SOURCE) is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b'{"userId": ', "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b'{"number": "7"}', "has \"7\" for 'number', which is a long"),
        (b'{"number": 7.0}', "has 7.0 for 'number', which is a long"),
        (b'{"number": true}', "has true for 'number', which is a long"),
        (b'{"number": ' + LONG_NUMBER + b"}", "has Infinity for 'number', which is a long"),
        (b'{"balance": "7"}', "has \"7\" for 'balance', which is a double"),
    ],
)
def test_what_spark_would_refuse_is_said_with_its_column(value: bytes, found: str) -> None:
    assert problem(value, SOURCE) == found
