"""kill -9 of the pipeline under load, seen from the tables: by a viewer, and by an auditor of every update cycle."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest

from pointsman.broker import clients
from pointsman.settings import Settings
from tests.end_to_end.test_line import Line
from tests.tables import auditing
from tests.tables.stage import TablesProcess, becomes, by_key, count, eventually, viewer

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables]
USERS = 40
PER_SECOND = 500


class Load(threading.Thread):
    """Inside `with`, users and accounts in turn. Ages and balances are numbered through, and so only ever grow."""

    def __init__(self, line: Line) -> None:
        super().__init__(daemon=True)
        self.newest: dict[str, dict[str, float | None]] = {}  # what the left join must come to
        self.sent = {"users": 0, "accounts": 0}
        self._topics = line.topics
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


@pytest.fixture
def line(live_settings: Settings, tmp_path: Path) -> Iterator[Line]:
    made = Line(live_settings, tmp_path)
    yield made
    made.close()


def test_killed_under_load_no_row_goes_back_and_none_is_in_a_view_twice(line: Line, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    script = [sys.executable, str(Path(auditing.__file__)), str(heard)]
    tables = TablesProcess(line.settings, tmp_path, script, line.variables)
    line.processes.append(tables)
    pipeline = line.start("pipeline")
    tables.await_ready()
    with viewer(tables.port) as client:
        final, views = client.open("final_ui"), {s: client.open(f"{s}_ui") for s in ("users", "accounts")}
        with Load(line) as load:
            eventually(lambda: count(final), lambda found: found == USERS, 120)
            before = newest(by_key(final))
            eventually(lambda: newest(by_key(final)), lambda found: found > before + 2 * PER_SECOND, 60)
            pipeline.signal(signal.SIGKILL)
            pipeline.process.wait(10)
            shown = newest(by_key(final))
            line.start("pipeline")
            eventually(lambda: newest(by_key(final)), lambda found: found > shown + 2 * PER_SECOND, 120)
        becomes(lambda: {u: {c: r[c] for c in ("age", "balance")} for u, r in by_key(final).items()}, load.newest)
        becomes(lambda: {source: count(table) for source, table in views.items()}, load.sent)
    cycles = [json.loads(told) for told in heard.read_text().splitlines()]
    assert sum(cycle["changed"] for cycle in cycles) > 5 * USERS  # several updates of a row in a cycle are one
    assert [cycle["back"] for cycle in cycles if cycle["back"]] == []
    assert [cycle["twice"] for cycle in cycles if cycle["twice"]] == []


def newest(rows: dict[str, dict[str, Any]]) -> float:
    """The newest number on screen."""
    return max((float(row["age"] or 0) for row in rows.values()), default=0.0)
