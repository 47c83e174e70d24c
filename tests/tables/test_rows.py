"""What a row does over its life, and what no bytes can do."""

from __future__ import annotations

import json
import os
import random
from functools import partial

import pytest

from pointsman.domain.generation import Generation
from pointsman.domain.spec import JoinType

from .conftest import Running
from .stage import account, becomes, by_key, count, eventually, final, rows, user, view

pytestmark = [pytest.mark.broker, pytest.mark.tables]

GARBAGE: list[bytes | None] = [
    None,
    b"",
    b"{",
    b"[]",
    b"null",
    b"42",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"userId": "\xff"}',
    b'{"_op": "u"}',
    b'{"_op": "u", "_version": "one"}',
    b'{"_op": 7, "_version": 1}',
    b'{"_op": "u", "_version": 1} trailing',
    b'{"_op": "u", "_version": 99999999999999999999, "_ts": 1}',
    b"[" * 5000,
    b'{"a":' * 5000,
]


@pytest.fixture
def live(running: Running) -> Generation:
    """A generation of this test's own, live and empty."""
    generation = running.pipeline.build(running.pipeline.catalog.next_number)
    running.pipeline.publish(generation.number)
    return generation


def test_a_row_never_goes_back_to_an_older_version(running: Running, live: Generation) -> None:
    table = running.viewer.open("final_ui")
    write = running.pipeline.write
    write(live.final, [final("u1", version, {"userId": "u1", "age": version}) for version in (1, 2, 3)])
    becomes(lambda: [r["age"] for r in rows(table)], [3])
    replay = [final("u1", version, {"userId": "u1", "age": version}) for version in (1, 2)]
    write(live.final, [*replay, final("u2", 1, {"userId": "u2", "age": 0})])
    becomes(lambda: count(table), 2)
    assert by_key(table)["u1"]["age"] == 3


def test_a_deleted_row_leaves_and_a_replay_does_not_bring_it_back(running: Running, live: Generation) -> None:
    table = running.viewer.open("final_ui")
    write = running.pipeline.write
    write(live.final, [final(f"u{i}", 1, {"userId": f"u{i}"}) for i in range(3)])
    becomes(lambda: count(table), 3)
    write(live.final, [final("u1", 2, {"userId": "u1"}, op="d")])
    becomes(lambda: set(by_key(table)), {"u0", "u2"})
    write(live.final, [final("u1", 1, {"userId": "u1"}), final("u9", 1, {"userId": "u9"})])
    becomes(lambda: set(by_key(table)), {"u0", "u2", "u9"})
    write(live.final, [final("u1", 3, {"userId": "u1"})])
    becomes(lambda: set(by_key(table)), {"u0", "u1", "u2", "u9"})


def test_a_replay_shows_no_row_of_a_view_twice(running: Running, live: Generation) -> None:
    table = running.viewer.open("users_ui")
    records = [view("users", i, user(i, live.number)) for i in range(100)]
    running.pipeline.write(live.views["users"], [*records[:60], *records[20:60], *records[40:]])
    found = eventually(lambda: rows(table), lambda found: len(found) >= 100)
    assert [row["userId"] for row in found] == [f"u{i}" for i in range(100)]


def test_a_tombstone_is_shown_in_no_view(running: Running, live: Generation) -> None:
    table = running.viewer.open("users_ui")
    gone = view("users", 0, {"userId": "u0"}, op="d")
    running.pipeline.write(live.views["users"], [gone, view("users", 1, user(1, live.number))])
    becomes(lambda: [row["userId"] for row in rows(table)], ["u1"])


def test_missing_and_ill_fitting_values_are_null(running: Running, live: Generation) -> None:
    table = running.viewer.open("final_ui")
    row = {"userId": "u1", "age": "old", "balance": {"a": [1]}, "name": None}
    running.pipeline.write(live.final, [final("u1", 1, row)])
    found = eventually(lambda: by_key(table), lambda found: "u1" in found)["u1"]
    assert (found["age"], found["balance"], found["name"], found["email"]) == (None, None, None, None)


def test_no_bytes_on_any_topic_fail_a_table(running: Running, live: Generation) -> None:
    names, write = running.pipeline.settings.names, running.pipeline.write
    opened = {
        name: running.viewer.open(name)
        for name in ("users_ui", "accounts_ui", "final_ui", "orchestrator_status", "orchestrator_logs")
    }
    control = running.viewer.open("control_raw")
    chance = random.Random(5)
    garbage = [*GARBAGE, *(chance.randbytes(chance.randrange(200)) for _ in range(200))]
    topics = [*live.topics, names.status, names.journal, names.verdicts, names.dead_letters, names.catalog]
    keys = [None, b"", b"\xff\xff", b"status", b"catalog", b"users-0-x", b"-", b"u1"]
    for topic in topics:
        write(topic, [(keys[i % len(keys)], value) for i, value in enumerate(garbage)])
    write(running.pipeline.settings.control.topic, [(None, value) for value in garbage])
    write(live.views["users"], [view("users", 5, user(5, live.number))])
    write(live.views["accounts"], [view("accounts", 5, account(5))])
    write(live.final, [final("u5", 1, user(5, live.number))])
    write(names.journal, [(None, json.dumps({"ts": 1.5, "level": "INFO", "msg": "after", "code": "x"}).encode())])
    for name in ("users_ui", "accounts_ui", "final_ui"):
        eventually(partial(by_key, opened[name]), lambda found: "u5" in found)
    eventually(lambda: any(row["msg"] == "after" for row in rows(opened["orchestrator_logs"])))
    eventually(lambda: count(control), lambda found: found >= len(garbage))
    assert len(rows(opened["orchestrator_status"])) == 1
    # Counted, but for what happens to be an object, and the catalog, which is read elsewhere.
    counted = len(topics) * len(garbage) // 2
    eventually(lambda: [s["refused"] for s in running.pipeline.servers().values()], lambda found: found[0] >= counted)
    # Still switching after all that.
    running.pipeline.fill(running.pipeline.build(running.pipeline.catalog.next_number), users=4)
    running.pipeline.publish(running.pipeline.catalog.next_number - 1)
    becomes(lambda: count(opened["final_ui"]), 4)


def test_as_of_rows_append_and_are_updated_by_their_row_key(running: Running) -> None:
    generation = running.pipeline.build(running.pipeline.catalog.next_number, JoinType.ASOF)
    running.pipeline.publish(generation.number)
    table = running.viewer.open("final_ui")
    records = [final(f"accounts-0-{i}", 1, {"userId": "u1", "balance": float(i)}) for i in range(5)]
    running.pipeline.write(generation.final, [*records, final("accounts-0-2", 2, {"userId": "u1", "balance": 9.0})])
    becomes(lambda: [row["balance"] for row in rows(table)], [0.0, 1.0, 9.0, 3.0, 4.0])


def test_the_key_is_nowhere_in_the_log(running: Running) -> None:
    assert os.environ.get("POINTSMAN_TABLES__KEY") is None
    from .stage import KEY_OF_VIEWERS

    assert KEY_OF_VIEWERS not in running.server.log
