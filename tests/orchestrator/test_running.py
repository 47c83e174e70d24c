from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from pointsman.domain.control import ControlMessage
from pointsman.domain.errors import BrokerError, FencedOut
from pointsman.domain.progress import Phase
from pointsman.domain.status import Health
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


def test_what_happened_while_the_broker_was_away_is_told_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()
    report = house.ports.store.report

    def away(*_: Any) -> None:
        raise BrokerError("no answer in time")

    monkeypatch.setattr(house.ports.store, "report", away)
    house.engine.tell(1, phase=Phase.DOWN, error="no token")
    with pytest.raises(BrokerError):
        house.later()
    house.engine.tell(1, phase=Phase.REAL_TIME, error="")
    with pytest.raises(BrokerError):
        house.later()
    monkeypatch.setattr(house.ports.store, "report", report)
    house.later().later()
    down, recovered = house.world.journal[-2:]
    assert (down.code, down.message) == ("generation.down", "a query of generation 1 is down: no token")
    assert recovered.code == "generation.recovered"
    assert house.health() is Health.SERVING


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
