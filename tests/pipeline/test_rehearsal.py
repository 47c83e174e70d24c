"""What is played through before the first checkpoint, and when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from pointsman.pipeline import rehearsal
from pointsman.pipeline.queries import Queries
from pointsman.pipeline.rehearsal import ROUNDS, Rehearsal
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


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "PAUSE_SECONDS", 0.001)


def begun(it: Rehearsal, is_ready: Callable[[], bool]) -> Planned:
    planned = Planned()
    it.begin(cast(Any, planned), is_ready)
    return planned


def test_it_waits_for_the_queries_is_over_after_some_rounds_and_minds_no_error() -> None:
    it, ready = Rehearsal(), threading.Event()
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
    it = Rehearsal()
    first = begun(it, lambda: True)
    second = begun(it, lambda: True)
    eventually(lambda: first.times == ROUNDS)
    it.end()
    assert second.times == 0


def test_it_ends_when_it_is_told() -> None:
    it = Rehearsal()
    begun(it, lambda: False)
    it.end()
    assert not any(thread.name == "rehearsal" for thread in threading.enumerate())


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
