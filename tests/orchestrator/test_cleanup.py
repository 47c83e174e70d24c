"""Freeing waits for what must come first, and never holds the orchestrator up."""

from __future__ import annotations

import pytest

from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import State
from pointsman.domain.journal import Entry
from pointsman.domain.progress import Phase
from tests.orchestrator.house import House


def told(house: House, code: str) -> list[Entry]:
    return [entry for entry in house.world.journal if entry.code == code]


def test_queries_that_take_their_time_to_end_hold_up_no_tick_and_keep_their_topics_until_they_have() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.engine.slow_to_stop.add(1)
    house.later(61)
    for _ in range(3):
        house.later(2)
        assert house.status.at == house.now, "the heartbeat goes on"
        assert house.numbers(State.FREEING) == [1]
        assert 1 in house.world.changelogs
        assert 1 in house.world.checkpoints
    house.switch(usersTopic="curated.users")
    assert house.catalog.live == 3
    house.engine.end(1)
    house.later()
    assert set(house.world.changelogs) == {2, 3} == house.world.checkpoints


def test_a_failed_builds_queries_are_asked_to_end_at_once_and_its_topics_wait_for_them() -> None:
    house = House().serving()
    house.world.loaded = {"t1": {1, 2}}
    house.send(usersTopic="raw.users")
    house.later()
    house.engine.slow_to_stop.add(2)
    house.engine.tell(2, phase=Phase.BROKEN, error="killed")
    house.later()
    house.world.loaded = {"t1": {1}}
    house.later()
    assert house.engine.running == {1, 2}
    assert 2 in house.world.changelogs
    house.engine.end(2)
    house.later()
    assert set(house.world.changelogs) == {1} == house.world.checkpoints


def test_queries_that_do_not_end_for_long_are_told_once() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.engine.slow_to_stop.add(1)
    house.later(61).later(58)
    assert told(house, "orchestrator.trouble") == []
    for _ in range(5):
        house.later(30)
    [entry] = told(house, "orchestrator.trouble")
    assert (entry.level, entry.generation) == ("WARN", 1)
    assert "still run" in entry.message


def test_a_living_tables_server_that_does_not_let_go_for_long_is_named_once() -> None:
    house = House().serving()
    house.world.loaded = {"t1": {1}, "t2": {1}}
    house.switch(usersTopic="raw.users")
    house.later(61)
    house.world.loaded["t2"] = {2}
    house.later(1).later(55)
    assert told(house, "generation.held") == []
    for _ in range(5):
        house.later(30)
    [entry] = told(house, "generation.held")
    assert (entry.level, entry.generation) == ("WARN", 1)
    assert "held by t1:" in entry.message
    assert 1 in house.world.changelogs
    house.world.loaded["t1"] = {2}
    house.later()
    assert set(house.world.changelogs) == {2}


def test_a_clock_set_back_neither_hastens_nor_repeats_the_warning() -> None:
    house = House().serving()
    house.world.loaded = {"t1": {1}}
    house.switch(usersTopic="raw.users")
    house.later(61).later(30)
    house.now -= 3600
    house.later().later(58)
    assert told(house, "generation.held") == []
    house.later(5)
    assert len(told(house, "generation.held")) == 1
    house.now -= 3600
    house.later(100).later(100)
    assert len(told(house, "generation.held")) == 1


def test_topics_that_cannot_be_deleted_say_nothing_of_queries_that_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")

    def cannot(number: int) -> None:
        raise BrokerError("not now")

    monkeypatch.setattr(house.ports.topics, "delete", cannot)
    house.later(61).later(1).later(1)
    assert house.engine.running == {2}
    assert len(told(house, "orchestrator.trouble")) == 1
    assert told(house, "generation.down") == []
