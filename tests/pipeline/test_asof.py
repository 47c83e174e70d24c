"""As-of: one row per account record, joined to the user as of that record's timestamp."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.pipeline.conftest import Bench
from tests.pipeline.oracle import final_rows

pytestmark = [pytest.mark.spark, pytest.mark.broker]
T0 = 1_700_000_000_000


def record(source: str, ts: int, user: str = "a", **columns: Any) -> tuple[str, int, bytes, bytes, int]:
    return (source, 0, user.encode(), json.dumps({"userId": user, **columns}).encode(), T0 + ts)


def test_late_users_change_the_account_rows_they_belong_to_and_no_others(bench: Callable[..., Bench]) -> None:
    b = bench(join={"type": "asof"})
    b.make_topics(1)
    b.send([record("users", 10, name="first"), record("users", 30, name="third")])
    b.send([record("accounts", ts, balance=ts) for ts in (5, 15, 25, 35)])
    generation = b.generation()
    engine = b.run_until_covered(generation)
    assert [row.get("name") for row in in_order(b.final(generation))] == [None, "first", "first", "third"]
    before = len(b.read([generation.final]))
    b.send([record("users", 20, name="second, late")])
    b.await_covered(generation, engine)
    assert b.final(generation) == final_rows(b.records(), generation.spec)
    assert [row.get("name") for row in in_order(b.final(generation))] == [None, "first", "second, late", "third"]
    assert len(b.read([generation.final])) == before + 1


def test_several_accounts_of_one_user_in_one_instant_are_rows_of_their_own(bench: Callable[..., Bench]) -> None:
    b = bench(join={"type": "asof"})
    b.make_topics(1)
    b.send([record("accounts", 10, balance=n) for n in range(5)])
    b.send([record("users", 10, name="same instant")])
    generation = b.generation()
    b.run_until_covered(generation)
    rows = b.final(generation)
    assert rows == final_rows(b.records(), generation.spec)
    assert sorted(row["balance"] for row in rows.values()) == [0, 1, 2, 3, 4]
    assert {row["name"] for row in rows.values()} == {"same instant"}


def test_a_tombstone_of_accounts_removes_older_rows_of_that_key(bench: Callable[..., Bench]) -> None:
    b = bench(join={"type": "asof"})
    b.make_topics(1)
    b.send([record("users", 1, name="Ada"), record("accounts", 10, balance=1), record("accounts", 30, balance=3)])
    b.send([("accounts", 0, b"a", None, T0 + 20), record("accounts", 15, balance=2)])
    generation = b.generation()
    b.run_until_covered(generation)
    assert b.final(generation) == final_rows(b.records(), generation.spec)
    assert [row["balance"] for row in b.final(generation).values()] == [3]


def test_beyond_the_history_a_shown_row_keeps_its_user_and_an_older_account_finds_none(
    bench: Callable[..., Bench],
) -> None:
    b = bench(join={"type": "asof", "asof_history": 4})
    b.make_topics(1)
    b.send([record("users", 10, name="v1"), record("accounts", 12, balance=1)])
    generation = b.generation()
    engine = b.run_until_covered(generation)
    b.send([record("users", 10 * n, name=f"v{n}") for n in range(2, 9)])
    b.await_covered(generation, engine)
    b.send([record("accounts", 13, balance=2), record("accounts", 75, balance=3)])
    b.await_covered(generation, engine)
    shown = {row["balance"]: row.get("name") for row in b.final(generation).values()}
    assert shown == {1: "v1", 2: None, 3: "v7"}


def test_stopped_before_its_first_checkpoint_it_goes_on_at_the_next_start(bench: Callable[..., Bench]) -> None:
    b = bench(join={"type": "asof"})
    b.make_topics(1)
    b.send([record("users", 10, name="first"), record("accounts", 15, balance=1)])
    generation = b.generation()
    b.run_until_covered(generation).close()
    b.send([record("users", 20, name="second"), record("accounts", 25, balance=2)])
    b.run_until_covered(generation)
    assert b.final(generation) == final_rows(b.records(), generation.spec)
    assert [row["name"] for row in in_order(b.final(generation))] == ["first", "second"]


def in_order(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows.values(), key=lambda row: int(row["_ts"]))
