"""Contents switch, objects stay: seen by clients that opened the tables once, and by a listener of every cycle."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydeephaven import DHError

from pointsman.domain.spec import Column, ColumnType, JoinType
from pointsman.settings import Settings

from .conftest import Running
from .stage import Pipeline, TablesProcess, Viewer, becomes, by_key, count, eventually, generations

pytestmark = [pytest.mark.broker, pytest.mark.tables]

DATA = ("users_ui", "accounts_ui", "final_ui")
SWITCHES = 50
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


def test_tables_opened_once_live_through_fifty_switches(listening: Running, heard: Path) -> None:
    pipeline, held = listening.pipeline, {name: listening.viewer.open(name) for name in DATA}
    status = listening.viewer.open("orchestrator_status")
    stop = threading.Event()
    seen: list[set[int]] = []
    failures: list[Exception] = []

    def look() -> None:
        client = Viewer(listening.server.port)
        mine = {name: client.open(name) for name in DATA}
        one_row = client.open("orchestrator_status")
        try:
            while not stop.is_set():
                for table in mine.values():
                    seen.append(generations(table))
                assert count(one_row) == 1
        except (DHError, AssertionError) as error:
            failures.append(error)
        finally:
            client.close()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(1, SWITCHES + 1):
            join = JoinType.LEFT if number % 2 else JoinType.INNER
            generation = pipeline.build(number, join, users=f"users-{number}")
            pipeline.fill(generation, users=20 + number)
            pipeline.publish(number)
            if number > 2:
                pipeline.free(number - 2)
            becomes(lambda: generations(held["final_ui"]), {number})
    finally:
        stop.set()
        looking.join()
    assert not failures
    assert len(seen) > SWITCHES
    assert all(len(found) <= 1 for found in seen)
    for name in DATA:
        assert count(held[name]) == 20 + SWITCHES
    assert count(status) == 1


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
    pipeline, final = listening.pipeline, listening.viewer.open("final_ui")
    pipeline.fill(pipeline.build(201), users=30)
    pipeline.publish(201)
    becomes(lambda: count(final), 30)
    pipeline.fill(pipeline.build(202), users=3)
    pipeline.publish(202)
    becomes(lambda: count(final), 3)
    pipeline.publish(201)
    becomes(lambda: count(final), 30, seconds=2)
    assert by_key(final)["u7"]["name"] == "user 7 of 201"


def test_a_generation_is_not_shown_before_it_has_been_read_to_the_end(listening: Running) -> None:
    pipeline, final = listening.pipeline, listening.viewer.open("final_ui")
    generation = pipeline.build(301)
    pipeline.fill(generation, users=20_000)
    pipeline.publish(301)
    found = eventually(final.to_arrow, lambda found: found.column("generation").unique().to_pylist() == [301])
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
    pipeline, final = listening.pipeline, listening.viewer.open("final_ui")
    pipeline.fill(pipeline.build(501), users=6)
    pipeline.publish(501)
    becomes(lambda: generations(final), {501})
    spec = pipeline.settings.spec()
    wider = replace(spec.left, columns=(*spec.left.columns, MOOD))
    pipeline.build_spec(502, replace(spec, sources=(wider, *spec.rights)))
    pipeline.publish(502)
    eventually(lambda: next(iter(pipeline.servers().values()))["problem"], lambda found: "502" in found)
    assert generations(final) == {501}
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


def reader_threads(running: Running) -> set[str]:
    """Named by the kernel, which keeps 15 characters; the prefix is ours."""
    tasks = Path(f"/proc/{running.server.process.pid}/task")
    names = {(task / "comm").read_text().strip() for task in tasks.iterdir()}
    return {name for name in names if name.startswith("pointsman-g") or name == "pointsman-fixed"}
