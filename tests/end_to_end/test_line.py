"""The whole line: topics → Spark → changelog → live table; one message that switches it, and kill -9 under load.

Three real processes (the broker, `pointsman pipeline`, a tables server with an auditor of every update cycle) and the
real command line; one line for all of these tests, because every start of a Java machine costs seconds.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import count as numbers
from typing import Any

import pytest
from pydeephaven import Table

from pointsman import settings
from pointsman.broker import clients
from pointsman.broker.newest import newest_catalog
from pointsman.broker.topics import TopicAdmin
from tests.end_to_end.line import Line
from tests.tables.stage import becomes, by_key, count, eventually, generations, rows, viewer

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables]
USERS = 40
PER_SECOND = 500


@pytest.fixture(scope="module")
def line(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Serving. Each test switches it to topics of its own first, so their order does not matter."""
    folder = tmp_path_factory.mktemp("line")
    loaded = settings.load(
        env={},
        toml=None,
        flags={
            "home": str(folder),
            "kafka": {"bootstrap_servers": broker},
            "topics": {"prefix": "line."},
            "control": {"topic": "line-control"},
            "sources": {"users": {"topic": "line-users"}, "accounts": {"topic": "line-accounts"}},
        },
    )
    made = Line(loaded, folder)
    try:
        made.tables.await_ready()
        admin = TopicAdmin(loaded)
        eventually(lambda: newest_catalog(loaded, admin), lambda c: c is not None and c.live is not None, 120)
        yield made
    finally:
        made.close()


class Load(threading.Thread):
    """Inside `with`, users and accounts in turn. Ages and balances are numbered through, and so only ever grow."""

    def __init__(self, line: Line) -> None:
        super().__init__(daemon=True)
        self.newest: dict[str, dict[str, float | None]] = {}  # what the left join must come to
        self.sent = {"users": 0, "accounts": 0}
        self._topics = line.busy
        self._producer = clients.producer(line.settings.kafka, **{"linger.ms": 0})
        self._over = threading.Event()

    def run(self) -> None:
        for number in numbers():
            user = f"u{number // 2 % USERS}"
            source, column = ("accounts", "balance") if number % 2 else ("users", "age")
            row: dict[str, Any] = {"userId": user, column: number}
            self._producer.produce(self._topics[source], json.dumps(row), key=user)
            self._producer.poll(0)
            self.newest.setdefault(user, {"age": None, "balance": None})[column] = number
            self.sent[source] += 1
            if self._over.wait(1 / PER_SECOND):
                return

    def __enter__(self) -> Load:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(10)
        assert self._producer.flush(30) == 0


def joined(final: Table) -> dict[str, Any]:
    """What a viewer sees in final_ui: user → name, balance."""
    return {row["userId"]: (row["name"], row["balance"]) for row in rows(final)}


def newest(shown: dict[str, dict[str, Any]]) -> float:
    """The newest number on screen."""
    return max((float(row["age"] or 0) for row in shown.values()), default=0.0)


def test_one_message_switches_the_tables_that_people_keep_open(line: Line) -> None:
    line.send(line.topics["users"], userId="a", name="Ada")
    line.send(line.topics["users"], userId="b", name="Bo")
    line.send(line.topics["accounts"], userId="a", balance=1.5)
    line.send(line.curated["users"], userId="a", name="Ada, curated")
    line.send(line.curated["accounts"], userId="a", balance=100.5)
    line.switch(line.topics)
    with viewer(line.tables.port) as client:
        final = client.open("final_ui")
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", None)})
        [first] = generations(final)

        line.send(line.topics["accounts"], userId="b", balance=7.5)
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", 7.5)}, 30)

        curated = ["--users-topic", line.curated["users"], "--accounts-topic", line.curated["accounts"]]
        verdict = line.command("switch", *curated, "--wait")
        assert verdict["verdict"] == "applied"
        becomes(lambda: joined(final), {"a": ("Ada, curated", 100.5)}, 30)
        assert generations(final) == {verdict["generation"]}
        assert verdict["generation"] > first

        refused = line.command("switch", "--users-topic", line.topics["users"] + "x", "--wait")
        assert refused["verdict"] == "refused"
        assert f"did you mean '{line.topics['users']}'" in refused["reason"]

        assert line.command("rollback", "--wait")["verdict"] == "applied"
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", 7.5)}, 30)
        assert generations(final) == {first}


def test_killed_under_load_no_row_goes_back_none_is_in_a_view_twice_and_it_still_switches(line: Line) -> None:
    line.switch(line.busy)
    with viewer(line.tables.port) as client:
        final, status = client.open("final_ui"), client.open("orchestrator_status")
        views = {source: client.open(f"{source}_ui") for source in ("users", "accounts")}
        becomes(lambda: [count(table) for table in (final, *views.values())], [0, 0, 0])
        begun = len(line.cycles())
        with Load(line) as load:
            eventually(lambda: newest(by_key(final)), lambda found: found > 2 * PER_SECOND, 60)
            line.kill_pipeline()
            line.revive_pipeline()
            shown = newest(by_key(final))
            eventually(lambda: newest(by_key(final)), lambda found: found > shown + 2 * PER_SECOND, 120)
        becomes(lambda: {u: {c: r[c] for c in ("age", "balance")} for u, r in by_key(final).items()}, load.newest)
        becomes(lambda: {source: count(table) for source, table in views.items()}, load.sent)
        cycles = line.cycles()[begun:]
        assert sum(cycle["changed"] for cycle in cycles) > 5 * USERS  # several updates of a row in a cycle are one
        assert [change for cycle in cycles for change in cycle["back"] if change[0] in load.newest] == []
        assert [value for cycle in cycles for value in cycle["twice"]] == []

        assert line.command("switch", "--join", "inner", "--wait")["verdict"] == "applied"
        becomes(lambda: {u: {c: r[c] for c in ("age", "balance")} for u, r in by_key(final).items()}, load.newest, 30)
        [row] = eventually(lambda: rows(status), lambda found: found[0]["joinType"] == "inner")
        assert row["usersTopic"] == line.busy["users"]
