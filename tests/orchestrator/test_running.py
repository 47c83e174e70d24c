from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from pointsman.domain.control import ControlMessage
from pointsman.domain.errors import BrokerError, FencedOut
from pointsman.orchestrator import run, running
from tests.orchestrator.house import House


def test_it_ticks_through_a_brokers_bad_moment_and_stops_every_query_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(running, "TROUBLE_SECONDS", 0.001)
    house, asked, polls = House(), threading.Event(), 0
    poll = house.ports.feed.poll

    def moody() -> Sequence[ControlMessage]:
        nonlocal polls
        polls += 1
        if polls == 2:
            raise BrokerError("away for a moment")
        if polls == 20:
            asked.set()
        return poll()

    monkeypatch.setattr(house.ports.feed, "poll", moody)
    run(house.orchestrator, asked)
    assert house.building.number == 1
    assert house.engine.running == frozenset()
    assert house.codes()[-1] == "orchestrator.stopped"


def test_being_fenced_out_ends_it_and_its_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PAUSE_SECONDS", 0.001)
    house = House().serving()
    tick = house.orchestrator.tick

    def taken_over(now: float) -> Any:
        house.world.process().store.load()
        return tick(now)

    monkeypatch.setattr(house.orchestrator, "tick", taken_over)
    with pytest.raises(FencedOut):
        run(house.orchestrator, threading.Event())
    assert house.engine.running == frozenset()
