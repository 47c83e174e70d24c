"""What is played through before the first checkpoint, and when."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from pointsman.pipeline import rehearsal
from pointsman.pipeline.queries import Queries
from pointsman.pipeline.rehearsal import ROUNDS, Played, Rehearsal, first_parts, short_batches
from tests.pipeline.conftest import Bench
from tests.tables.stage import eventually


class Planned:
    """In place of queries: counts how often they were planned."""

    def __init__(self) -> None:
        self.times = 0

    def plan_again(self) -> list[str]:
        self.times += 1
        if self.times == 1:
            raise RuntimeError("the session is at its end")
        return []


@contextlib.contextmanager
def none(_: Queries) -> Iterator[Played]:
    yield lambda: True


@contextlib.contextmanager
def endless(_: Queries) -> Iterator[Played]:
    yield lambda: False


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "PAUSE_SECONDS", 0.001)


def begun(it: Rehearsal, is_ready: Callable[[], bool]) -> Planned:
    planned = Planned()
    it.begin(cast(Any, planned), is_ready)
    return planned


def test_it_waits_for_the_queries_is_over_after_some_rounds_and_minds_no_error() -> None:
    it, ready = Rehearsal(none, none), threading.Event()
    looked = threading.Event()

    def is_ready() -> bool:
        looked.set()
        return ready.is_set()

    planned = begun(it, is_ready)
    assert looked.wait(10)
    assert planned.times == 0
    ready.set()
    eventually(lambda: planned.times == ROUNDS)
    it.end()
    assert planned.times == ROUNDS


def test_only_the_first_generation_of_a_session_is_rehearsed() -> None:
    it = Rehearsal(none, none)
    first = begun(it, lambda: True)
    second = begun(it, lambda: True)
    eventually(lambda: first.times == ROUNDS)
    it.end()
    assert second.times == 0


def test_it_ends_when_it_is_told() -> None:
    it = Rehearsal(none, none)
    begun(it, lambda: False)
    it.end()
    assert not any(thread.name == "rehearsal" for thread in threading.enumerate())


def test_it_is_over_only_when_enough_batches_have_ended_and_they_are_ended_with_it() -> None:
    played, closed = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def batches(_: Queries) -> Iterator[Played]:
        yield played.is_set
        closed.set()

    it = Rehearsal(batches, none)
    planned = begun(it, lambda: True)
    eventually(lambda: planned.times == ROUNDS)
    assert not closed.wait(0.1)
    played.set()
    assert closed.wait(10)
    assert planned.times == ROUNDS
    it.end()


def test_a_switch_is_played_once_the_checkpoints_were_and_not_when_it_is_to_end() -> None:
    played = []

    @contextlib.contextmanager
    def switch(_: Queries) -> Iterator[Played]:
        played.append(planned.times)
        yield lambda: True

    it = Rehearsal(none, switch)
    planned = begun(it, lambda: True)
    eventually(lambda: played == [ROUNDS])
    it.end()
    played.clear()
    it = Rehearsal(none, switch)
    begun(it, lambda: False)
    it.end()
    it = Rehearsal(endless, switch)
    planned = begun(it, lambda: True)
    eventually(lambda: planned.times == ROUNDS)
    it.end()
    assert played == []


@pytest.mark.spark
@pytest.mark.broker
def test_short_batches_come_to_their_end_and_leave_nothing(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "BATCHES", 2)
    b = bench()
    b.make_topics(1)
    queries = Queries(b.spark, b.settings, b.generation(), {})
    place = b.settings.home / f"{b.settings.topics.prefix}rehearsal"
    place.mkdir(parents=True)
    (place / "metadata").write_text("of one that was killed")
    with short_batches(queries) as played:
        eventually(played)
        (query,) = [query for query in b.spark.streams.active if query.name == "rehearsal"]
        assert [report["batchId"] for report in query.recentProgress][:2] == [0, 1]
        assert query.recentProgress[0]["stateOperators"]
        assert place.exists()
    assert not place.exists()
    assert "rehearsal" not in {query.name for query in b.spark.streams.active}


@pytest.mark.spark
@pytest.mark.broker
def test_short_batches_take_no_slots_of_a_master_that_was_named(bench: Callable[..., Bench]) -> None:
    b = bench(spark={"master": "spark://somewhere:7077"})
    with short_batches(Queries(b.spark, b.settings, b.generation(), {})) as played:
        assert played()
        assert "rehearsal" not in {query.name for query in b.spark.streams.active}


@pytest.mark.spark
@pytest.mark.broker
def test_the_first_parts_of_a_catch_up_are_read_into_nothing(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "PARTS", 2)
    monkeypatch.setattr(rehearsal, "PART", 10)
    b = bench()
    b.make_topics(1)
    users = [f"u{number}" for number in range(100)]
    b.send([("users", 0, None, f'{{"userId":"{user}"}}'.encode(), 0) for user in users])
    generation = b.generation()
    with first_parts(Queries(b.spark, b.settings, generation, {})) as played:
        eventually(played)
        running = {query.name: query for query in b.spark.streams.active if query.name.startswith("rehearsal-")}
        assert set(running) == {"rehearsal-views", "rehearsal-join"}
        for query in running.values():
            assert [report["numInputRows"] for report in query.recentProgress][:2] == [10, 10]
        assert running["rehearsal-join"].recentProgress[0]["stateOperators"]
    assert not any(query.name.startswith("rehearsal") for query in b.spark.streams.active)
    assert not list(b.settings.home.glob("*rehearsal*"))
    assert b.read([*generation.topics, b.settings.names.dead_letters]) == []


@pytest.mark.spark
@pytest.mark.broker
@pytest.mark.parametrize("flags", [{"spark": {"master": "spark://somewhere:7077"}}, {"join": {"type": "asof"}}])
def test_a_catch_up_is_not_played_on_a_master_that_was_named_nor_where_there_is_none(
    bench: Callable[..., Bench], flags: dict[str, Any]
) -> None:
    b = bench(**flags)
    with first_parts(Queries(b.spark, b.settings, b.generation(), {})) as played:
        assert played()
        assert not any(query.name.startswith("rehearsal") for query in b.spark.streams.active)


@pytest.mark.spark
@pytest.mark.broker
def test_both_queries_are_planned_down_to_what_runs(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    views, join = Queries(b.spark, b.settings, b.generation(), {}).plan_again()
    assert "StateStoreSave" in join
    assert "StateStoreSave" not in views
    assert "StreamingRelation" in views
    assert "StreamingRelation" in join
