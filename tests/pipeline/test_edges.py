"""What real topics have at their edges: nothing, one row, rows of a mebibyte, a start in the middle, markers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pointsman.broker import clients
from tests.pipeline.conftest import Bench
from tests.pipeline.oracle import final_rows

pytestmark = [pytest.mark.spark, pytest.mark.broker]
T0 = 1_700_000_000_000
LONGER_AS_TEXT = ["\\" * 524_000]  # a mebibyte; in a string column, as JSON in JSON, twice that


def row(user: str, **more: Any) -> bytes:
    return json.dumps({"userId": user, **more}).encode()


def test_an_empty_topic_and_a_topic_with_one_row_are_ready_at_once_and_go_on(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    b.send([("users", 0, None, row("a", name="Ada"), T0)])
    generation = b.generation()
    engine = b.run_until_covered(generation)
    assert b.final(generation) == {"a": {"userId": "a", "name": "Ada", "_ts": T0, "_version": 1}}
    b.send([("accounts", 0, None, row("a", balance=2), T0 + 5)])
    b.await_covered(generation, engine)
    assert b.final(generation) == {"a": {"userId": "a", "name": "Ada", "balance": 2.0, "_ts": T0 + 5, "_version": 2}}


def test_values_of_a_mebibyte_are_joined_and_larger_ones_are_dead_letters(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    room = 1_048_576 - len(row("a", name=""))
    b.send(
        [
            ("users", 0, None, row("a", name="x" * room), T0),
            ("users", 0, None, row("b", name="y" * (room + 1)), T0),
            ("accounts", 0, None, json.dumps({"userId": "a", "accountType": "z" * 1_000_000}).encode(), T0),
            ("users", 0, None, row("c", name=LONGER_AS_TEXT), T0),
            ("accounts", 0, None, row("c", accountType=LONGER_AS_TEXT), T0),
        ]
    )
    generation = b.generation()
    b.run_until_covered(generation)
    assert b.final(generation) == final_rows(b.records(), generation.spec)
    assert set(b.final(generation)) == {"a", "c"}
    [(*_, letter)] = b.read([b.settings.names.dead_letters])
    letter = json.loads(letter or b"")
    assert letter["reason"] == "too-large"
    assert letter["length"] == 1_048_577
    assert len(letter["payload"]) < 90_000
    assert len(letter["sha256"]) == 64


@pytest.mark.parametrize("start", ["latest", "timestamp"])
def test_start_in_the_middle_reads_only_what_is_newer_in_both_queries(start: str, bench: Callable[..., Bench]) -> None:
    moment = datetime.fromtimestamp((T0 + 500) / 1000, UTC).isoformat() if start == "timestamp" else "latest"
    plain = bench()
    sources = plain.settings.model_dump(mode="json")["sources"]
    b = bench(sources={name: {**source, "start": moment} for name, source in sources.items()})
    b.make_topics(2)
    b.send([("users", n % 2, None, row(f"old{n}"), T0 + n) for n in range(10)])
    generation = b.generation()
    engine = b.run_until_covered(generation)
    assert b.final(generation) == {}
    b.send([("users", n % 2, None, row(f"new{n}"), T0 + 1000 + n) for n in range(4)])
    b.await_covered(generation, engine)
    assert set(b.final(generation)) == {f"new{n}" for n in range(4)}
    assert len(b.read(list(generation.views.values()))) == 4


def test_transaction_markers_and_aborted_records_are_neither_rows_nor_lag(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    topic = b.settings.sources["users"].topic
    producer = clients.producer(b.settings.kafka, **{"transactional.id": topic})
    producer.init_transactions()
    for name, ending in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, row(name), timestamp=T0)
        producer.flush()
        ending()
    generation = b.generation()
    b.run_until_covered(generation)
    assert set(b.final(generation)) == {"kept"}


def test_three_sources_join_in_one_row_and_shared_column_names_are_told_apart(bench: Callable[..., Bench]) -> None:
    b = bench()
    cards = {
        "topic": b.settings.sources["users"].topic + ".cards",
        "columns": {"userId": "string", "name": "string", "active": "boolean"},
    }
    b = bench(sources={**b.settings.model_dump(mode="json")["sources"], "cards": cards}, join={"type": "inner"})
    b.make_topics(2)
    b.send([("users", None, b"a", row("a", name="Ada"), T0), ("users", None, b"b", row("b", name="Bo"), T0)])
    b.send([("accounts", None, b"a", row("a", balance=1.5), T0)])
    b.send([("cards", None, b"a", row("a", name="gold", active=True), T0)])
    generation = b.generation()
    b.run_until_covered(generation)
    expected = final_rows(b.records(), generation.spec)
    assert b.final(generation) == expected
    assert list(expected) == ["a"]
    assert (expected["a"]["users_name"], expected["a"]["cards_name"]) == ("Ada", "gold")


def test_long_keys_join_and_tombstones_spell_them(bench: Callable[..., Bench]) -> None:
    b = bench()
    sources = b.settings.model_dump(mode="json")["sources"]
    for source in sources.values():
        source["columns"]["userId"] = "long"
    b = bench(sources=sources)
    b.make_topics(1)
    b.send(
        [
            ("users", 0, None, b'{"userId":1,"name":"Ada"}', T0),
            ("users", 0, None, b'{"userId":2,"name":"Bo"}', T0),
            ("accounts", 0, None, b'{"userId":1,"balance":1}', T0),
            ("users", 0, b"2", None, T0 + 1),
            ("users", 0, b"two", None, T0 + 1),
        ]
    )
    generation = b.generation()
    b.run_until_covered(generation)
    assert b.final(generation) == final_rows(b.records(), generation.spec)
    assert set(b.final(generation)) == {"1"}
    [(*_, letter)] = b.read([b.settings.names.dead_letters])
    assert json.loads(letter or b"")["reason"] == "tombstone-key-unreadable"


def test_in_micro_batches_records_of_one_key_that_become_one_row_are_not_lag(bench: Callable[..., Bench]) -> None:
    b = bench(pipeline={"mode": "micro-batch"})
    b.make_topics(1)
    generation = b.generation()
    engine = b.run_until_covered(generation)
    b.send((source, 0, None, row("a", age=n, balance=n), T0 + n) for n in range(50) for source in ("users", "accounts"))
    b.await_covered(generation, engine)
    assert b.final(generation) == final_rows(b.records(), generation.spec)


def test_little_is_read_in_real_time_from_the_start_and_by_a_catch_up_after_a_restart(
    bench: Callable[..., Bench],
) -> None:
    """Record by record while nobody looks; afterwards the last state of each key, so that no row goes back."""
    b = bench()
    b.make_topics(1)
    b.send([("users", 0, None, row("a", age=age), T0 + age) for age in (1, 2, 3)])
    generation = b.generation()
    b.run_until_covered(generation).close()
    assert versions(b, generation.final) == [1, 2, 3]
    b.send([("users", 0, None, row("a", age=4), T0 + 4)])
    b.run_until_covered(generation)
    assert versions(b, generation.final) == [1, 2, 3, 4]


def versions(b: Bench, topic: str) -> list[int]:
    return [json.loads(value or b"")["_version"] for *_, value in b.read([topic])]
