"""Kill the process between any two things it does: the next one finishes forward or rolls back, never half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, cast

import pytest

from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import State
from pointsman.domain.verdict import Outcome
from pointsman.memory import MemoryEngine
from pointsman.ports import Ports
from tests.orchestrator.house import House, spec


class Crash(BaseException):
    """Not an Exception: nothing may catch it."""


class Fuse:
    """Blows at the n-th call of any port, before or after the call has had its effect."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.after = False

    def call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.left is not None:
            self.left -= 1
            if self.left < 0 and not self.after:
                self._blow()
        result = method(*args, **kwargs)
        if self.left is not None and self.left < 0:
            self._blow()
        return result

    def _blow(self) -> None:
        self.left = None
        raise Crash


class Fused:
    def __init__(self, port: Any, fuse: Fuse) -> None:
        self._port, self._fuse = port, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self._fuse.call(found, *args, **kwargs)


def fused(ports: Ports, fuse: Fuse) -> Ports:
    return Ports(**{f.name: Fused(getattr(ports, f.name), fuse) for f in fields(ports)})


class FragileHouse(House):
    """Whose process dies when the fuse blows."""

    def __init__(self) -> None:
        super().__init__()
        self.fuse = Fuse()
        self._light()

    @property
    def engine(self) -> MemoryEngine:
        """The test's own hands do not blow the fuse."""
        engine: Any = self.ports.engine
        return cast(MemoryEngine, engine._port)

    def restart(self, spec: Any = None) -> House:
        self.spec = spec or self.spec
        self.ports = self.world.process()
        self._light()
        return self.start()

    def _light(self) -> None:
        self.ports = fused(self.ports, self.fuse)
        self.orchestrator = self._orchestrator()


def interruptions() -> Iterator[tuple[int, bool]]:
    for calls in range(60):
        yield calls, False
        yield calls, True


def test_a_switch_killed_anywhere_is_finished_by_the_next_process() -> None:
    crashes = 0
    for calls, after in interruptions():
        house = FragileHouse()
        house.serving()
        house.world.loaded = {"tables": {1}}
        offset = house.send(usersTopic="raw.users")
        house.fuse.left, house.fuse.after = calls, after
        try:
            house.later().catch_up().later()
        except Crash:
            crashes += 1
            house.restart()
        house.fuse.left = None
        for _ in range(3):
            house.later()
            if house.catalog.building:
                house.engine.catch_up(house.building.number)
        house.later()
        assert house.outcome(offset) is Outcome.APPLIED
        assert house.live.spec == spec(users="raw.users")
        house.world.loaded = {}
        house.later(61).later().later()
        alive = {house.live.number}
        assert set(house.catalog.generations) == alive == set(house.world.changelogs) == house.world.checkpoints
        assert house.engine.running == alive
    assert crashes > 30


def test_a_start_killed_anywhere_is_finished_by_the_next_process() -> None:
    for calls, after in interruptions():
        house = FragileHouse()
        house.serving()
        house.switch(usersTopic="raw.users")
        house.send(usersTopic="curated.users")
        house.later()
        house.world.changelogs[77] = ("pointsman.g77.final",)
        house.world.checkpoints.add(78)
        house.fuse.left, house.fuse.after = calls, after
        try:
            house.restart()
        except Crash:
            house.restart()
        house.fuse.left = None
        assert house.catalog.live == 2
        house.later().catch_up()
        assert house.live.spec == spec(users="curated.users")
        house.later(61).later()
        assert set(house.world.changelogs) == {house.live.number} == house.world.checkpoints


@pytest.mark.parametrize("state", [State.BUILDING, State.READY])
def test_an_interrupted_build_is_resumed_and_must_become_ready_again(state: State) -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users")
    house.later()
    if state is State.READY:
        generation = house.building.move(State.READY)
        house.ports.store.commit(house.catalog.put(generation))
    house.restart().later()
    assert house.building.state is state
    assert house.catalog.live == 1
    assert house.engine.running == {1, 2}
    house.catch_up()
    assert house.outcome(offset) is Outcome.APPLIED
    assert house.catalog.live == 2


def test_a_long_death_does_not_count_against_the_build_deadline() -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users")
    house.later()
    house.now += 86_400
    house.restart().later().catch_up()
    assert house.outcome(offset) is Outcome.APPLIED


def test_the_same_settings_resume_what_is_live_and_read_control_on_from_where_it_was() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    refused = house.send(usersTopic="missing")
    house.later()
    house.world.readable.add("missing")
    house.restart().later()
    assert house.catalog.live == 2
    assert house.catalog.building is None
    assert house.outcome(refused) is Outcome.REFUSED
    assert house.engine.running == {1, 2}


def test_changed_settings_are_built_while_the_old_serves_and_overrides_stay() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.restart(spec(accounts="raw.accounts")).later()
    assert house.catalog.live == 2
    assert "settings.changed" in house.codes()
    house.catch_up()
    assert house.live.spec == spec(users="raw.users", accounts="raw.accounts")


def test_changed_settings_supersede_what_was_still_being_built() -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users")
    house.later()
    house.restart(spec(accounts="raw.accounts"))
    assert house.outcome(offset) is Outcome.SUPERSEDED
    assert "changed settings" in house.verdict(offset).reason
    house.later().catch_up()
    assert house.live.spec == spec(users="raw.users", accounts="raw.accounts")


def test_leftovers_of_nobody_are_swept_and_their_numbers_not_used_again() -> None:
    house = House()
    house.world.changelogs[6] = ("pointsman.g6.final",)
    house.world.checkpoints.add(4)
    house.start().later().catch_up()
    assert house.catalog.live == 7
    assert set(house.world.changelogs) == {7} == house.world.checkpoints
    assert house.codes().count("orphans.swept") == 2


def test_messages_of_a_tick_that_could_not_be_written_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users")

    def down(*_: Any) -> None:
        raise BrokerError("broker away")

    with monkeypatch.context() as patch:
        patch.setattr(house.ports.store, "commit", down)
        with pytest.raises(BrokerError):
            house.orchestrator.tick(house.now)
    house.later().catch_up()
    assert house.outcome(offset) is Outcome.APPLIED
