"""Contents switch, objects stay: seen by clients that opened the tables once, and by a listener of every cycle."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pointsman.domain.generation import Generation
from pointsman.domain.spec import Column, ColumnType, JoinType
from pointsman.settings import Settings
from tests.web.browser import BrowserScript

from .conftest import Running
from .stage import (
    KEY_OF_VIEWERS,
    Pipeline,
    TablesProcess,
    Viewer,
    account,
    becomes,
    by_key,
    count,
    eventually,
    final,
    generations,
    rows,
    user,
)

pytestmark = [pytest.mark.broker, pytest.mark.tables]

DATA = ("users_ui", "accounts_ui", "final_ui")
SWITCHES = 50
ROWS = 5_000  # of final_ui: enough that generations left behind would show in the heap
MOOD = Column("mood", ColumnType.STRING)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("heard") / "cycles"


@pytest.fixture(scope="module")
def listening(settings_of: Callable[[str], Settings], tables_home: Path, heard: Path) -> Iterator[Running]:
    chosen = settings_of("switching")
    pipeline = Pipeline(chosen)
    script = Path(__file__).with_name("listening.py")
    server = TablesProcess(chosen, tables_home, [sys.executable, str(script), str(heard)])
    try:
        server.await_ready()
        viewer = Viewer(server.port)
        yield Running(pipeline, server, viewer)
        viewer.close()
    finally:
        server.kill()


class Load(threading.Thread):
    """Updates rows of the generation that it was turned to last, and the status, as fast as the broker answers.

    Inside `with`. `balances`: user → the newest one written, of that generation.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(daemon=True)
        self.balances: dict[str, float] = {}
        self._pipeline = pipeline
        self._live: Generation | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def turn_to(self, live: Generation) -> None:
        with self._lock:
            self._live, self.balances = live, {}

    def run(self) -> None:
        version = 1
        while not self._ended.wait(0.002):
            with self._lock:
                if self._live is None:
                    continue
                version += 1
                row = user(version % 20, self._live.number) | account(version % 20) | {"balance": float(version)}
                self._pipeline.write(self._live.final, [final(row["userId"], version, row)])
                status = {"generation": self._live.number, "state": "SERVING", "lag": version}
                self._pipeline.write(self._pipeline.settings.names.status, [(b"status", json.dumps(status).encode())])
                self.balances[row["userId"]] = row["balance"]

    def __enter__(self) -> Load:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


class Onlooker(threading.Thread):
    """A client of its own that takes snapshots of tables that it opened once, inside `with`."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.seen: list[set[int]] = []
        self.failures: list[Exception] = []
        self._port = port
        self._ended = threading.Event()

    def run(self) -> None:
        client = Viewer(self._port)
        try:
            held = [client.open(name) for name in DATA]
            status = client.open("orchestrator_status")
            while not self._ended.is_set():
                self.seen += [generations(table) for table in held]
                assert count(status) == 1
        except Exception as error:  # noqa: BLE001 whatever ends a viewer's day is a failure
            self.failures.append(error)
        finally:
            client.close()

    def __enter__(self) -> Onlooker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


@pytest.mark.browser
def test_tables_opened_once_live_through_fifty_switches_under_load(listening: Running, tmp_path: Path) -> None:
    """In a Python client and in a browser. And the fiftieth leaves no more behind than the fifth."""
    pipeline, server = listening.pipeline, listening.server
    kafka = int(pipeline.settings.kafka.bootstrap_servers.rpartition(":")[2])
    held = {name: listening.viewer.open(name) for name in DATA}
    status = listening.viewer.open("orchestrator_status")
    log, variables = tmp_path / "browser.log", {"TABLES_URL": f"http://127.0.0.1:{server.port}"}
    heap: dict[int, int] = {}
    sockets: dict[int, int] = {}
    with BrowserScript("tables.mjs", log, VIEWER_KEY=KEY_OF_VIEWERS, **variables) as browser:
        browser.await_wish("switches")
        becomes(lambda: viewers(pipeline), [1])
        with Onlooker(server.port) as onlooker, Load(pipeline) as load:
            for number in range(1, SWITCHES + 1):
                join = JoinType.LEFT if number % 2 else JoinType.INNER
                generation = pipeline.build(number, join, users=f"users-{number}")
                pipeline.fill(generation, users=20 + number)
                more = range(20 + number, ROWS)
                pipeline.write(generation.final, (final(f"u{i}", 1, user(i, number) | account(i)) for i in more))
                pipeline.publish(number)
                load.turn_to(generation)
                if number > 2:
                    pipeline.free(number - 2)
                becomes(lambda: generations(held["final_ui"]), {number})
                if number in (5, SWITCHES):
                    becomes(lambda: loaded(pipeline), [number - 1, number])
                    heap[number], sockets[number] = server.live_bytes(), server.connections_to(kafka)
        sizes = {"users_ui": 20 + SWITCHES, "accounts_ui": 20 + SWITCHES, "final_ui": ROWS}
        browser.answer(switches=SWITCHES, last=SWITCHES, rows=sizes)
        browser.await_end()
    assert not onlooker.failures
    assert len(onlooker.seen) > SWITCHES
    assert all(len(found) <= 1 for found in onlooker.seen)
    assert {name: count(table) for name, table in held.items()} == sizes
    becomes(lambda: [row["generation"] for row in rows(status)], [SWITCHES])
    oracle = {f"u{i}": (f"user {i} of {SWITCHES}", account(i)["balance"]) for i in range(ROWS)}
    oracle |= {u: (oracle[u][0], balance) for u, balance in load.balances.items()}
    assert load.balances
    becomes(lambda: {u: (row["name"], row["balance"]) for u, row in by_key(held["final_ui"]).items()}, oracle)
    print(f"live heap {heap[5] / 2**20:.0f} MiB after 5 switches, {heap[SWITCHES] / 2**20:.0f} after {SWITCHES}")
    assert heap[SWITCHES] <= heap[5] * 1.1
    assert sockets[SWITCHES] <= sockets[5]


def test_all_data_tables_switch_in_the_same_cycle(listening: Running, heard: Path) -> None:
    pipeline = listening.pipeline
    numbers = (101, 102, 101)
    for number in numbers[:2]:
        pipeline.fill(pipeline.build(number), users=10)
    for number in numbers:
        pipeline.publish(number)
        becomes(lambda: shows(pipeline), number)
    # The first one may find nothing on screen that it could remove.
    switches = eventually(lambda: switches_in(heard), lambda found: len(found) >= len(numbers) - 1)
    for cycle in switches:
        assert set(cycle) == set(DATA)
        assert len({(tuple(t["added"]), tuple(t["removed"])) for t in cycle.values()}) == 1
        assert all(len(t["added"]) == len(t["removed"]) == 1 for t in cycle.values())


def test_a_rollback_during_linger_shows_the_old_rows_again(listening: Running) -> None:
    pipeline, table = listening.pipeline, listening.viewer.open("final_ui")
    pipeline.fill(pipeline.build(201), users=30)
    pipeline.publish(201)
    becomes(lambda: count(table), 30)
    pipeline.fill(pipeline.build(202), users=3)
    pipeline.publish(202)
    becomes(lambda: count(table), 3)
    pipeline.publish(201)
    becomes(lambda: count(table), 30, seconds=2)
    assert by_key(table)["u7"]["name"] == "user 7 of 201"


def test_a_generation_is_not_shown_before_it_has_been_read_to_the_end(listening: Running) -> None:
    pipeline, table = listening.pipeline, listening.viewer.open("final_ui")
    generation = pipeline.build(301)
    pipeline.fill(generation, users=20_000)
    pipeline.publish(301)
    found = eventually(table.to_arrow, lambda found: found.column("generation").unique().to_pylist() == [301])
    assert found.num_rows == 20_000


def test_a_freed_generation_is_let_go_of(listening: Running) -> None:
    pipeline = listening.pipeline
    for number in (401, 402):
        pipeline.fill(pipeline.build(number), users=5)
        pipeline.publish(number)
        becomes(lambda: shows(pipeline), number)
    for number in sorted(set(pipeline.catalog.generations) - {402}):
        pipeline.free(number)
    becomes(lambda: loaded(pipeline), [402])
    assert reader_threads(listening) == {"pointsman-g402", "pointsman-fixed"}


def test_a_generation_with_other_columns_asks_for_a_restart_and_the_old_one_stays(listening: Running) -> None:
    pipeline, table = listening.pipeline, listening.viewer.open("final_ui")
    pipeline.fill(pipeline.build(501), users=6)
    pipeline.publish(501)
    becomes(lambda: generations(table), {501})
    spec = pipeline.settings.spec()
    wider = replace(spec.left, columns=(*spec.left.columns, MOOD))
    pipeline.build_spec(502, replace(spec, sources=(wider, *spec.rights)))
    pipeline.publish(502)
    eventually(lambda: next(iter(pipeline.servers().values()))["problem"], lambda found: "502" in found)
    assert generations(table) == {501}
    pipeline.publish(501)
    pipeline.free(502)
    becomes(lambda: next(iter(pipeline.servers().values()))["problem"], "")


def switches_in(heard: Path) -> list[dict[str, dict[str, list[int]]]]:
    cycles = [json.loads(line) for line in heard.read_text().splitlines()]
    return [cycle for cycle in cycles if any(table["removed"] for table in cycle.values())]


def shows(pipeline: Pipeline) -> int | None:
    found = pipeline.servers()
    return next(iter(found.values()))["shows"] if found else None


def loaded(pipeline: Pipeline) -> list[int]:
    found: list[int] = next(iter(pipeline.servers().values()))["loaded"]
    return found


def viewers(pipeline: Pipeline) -> list[int | None]:
    return [word["viewers"] for word in pipeline.servers().values()]


def reader_threads(running: Running) -> set[str]:
    """Named by the kernel, which keeps 15 characters; the prefix is ours."""
    tasks = Path(f"/proc/{running.server.process.pid}/task")
    names = {(task / "comm").read_text().strip() for task in tasks.iterdir()}
    return {name for name in names if name.startswith("pointsman-g") or name == "pointsman-fixed"}
