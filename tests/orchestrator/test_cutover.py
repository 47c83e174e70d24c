"""Building beside, publishing in one write, lingering, freeing; and what three bugs of others must not do here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pointsman.domain.cutover import Limits
from pointsman.domain.errors import BrokerError, FencedOut, NoRoom, PipelineError
from pointsman.domain.generation import Generation, State
from pointsman.domain.progress import Phase
from pointsman.domain.status import Health
from pointsman.domain.verdict import Outcome
from tests.orchestrator.house import House, spec, with_columns


def test_publish_and_linger_and_verdict_are_one_write() -> None:
    house = House().serving()
    house.send(usersTopic="raw.users")
    house.later()
    house.engine.catch_up(2)
    writes = len(house.world.commits)
    house.orchestrator.tick(house.now)
    ready, published = house.world.commits[writes:]
    assert ready.generations[2].state is State.READY
    assert ready.live == 1
    assert (published.live, published.generations[1].state) == (2, State.LINGERING)
    assert published.pending == ()
    assert set(published.generations[2].read_to) == set(published.generations[2].topics)


def test_the_old_generation_lingers_for_its_time_and_is_then_freed() -> None:
    house = House(Limits(linger_seconds=60)).serving()
    house.switch(usersTopic="raw.users")
    house.later(58)
    assert house.numbers(State.LINGERING) == [1]
    assert house.engine.running == {1, 2}
    house.later(3)
    assert set(house.catalog.generations) == {2} == set(house.world.changelogs) == house.world.checkpoints
    assert house.engine.running == {2}


@pytest.mark.parametrize("most", [0, 1, 2])
def test_no_more_linger_than_the_setting_says(most: int) -> None:
    house = House(Limits(max_lingering=most)).serving()
    for topic in ("raw.users", "curated.users", "users", "raw.users"):
        house.switch(usersTopic=topic)
    assert len(house.numbers(State.LINGERING)) == most
    assert house.catalog.live == 5
    assert house.engine.running == set(range(5 - most, 6))


def test_freeing_waits_for_every_living_tables_server() -> None:
    house = House().serving()
    house.world.loaded = {"t1": {1}, "t2": {1}}
    house.switch(usersTopic="raw.users")
    house.later(61).later()
    assert house.numbers(State.FREEING) == [1]
    assert 1 in house.engine.running
    house.world.loaded["t1"] = {2}
    house.later()
    assert house.numbers(State.FREEING) == [1]
    del house.world.loaded["t2"]
    house.later()
    assert set(house.catalog.generations) == {2}


def test_a_second_change_during_a_build_inherits_neither_readiness_nor_linger_clock() -> None:
    house = House(Limits(linger_seconds=60)).serving()
    house.send(usersTopic="raw.users")
    house.later()
    house.engine.catch_up(2)  # ready in the very tick in which it is superseded
    house.send(usersTopic="curated.users")
    house.orchestrator.tick(house.now)
    house.later(30)
    house.engine.catch_up(2)  # and a late word of it
    house.later()
    assert house.catalog.live == 1
    assert house.building.number == 3
    assert house.building.state is State.BUILDING
    assert house.building.read_to == {}
    assert house.building.started is not None
    assert house.building.started > house.now - 31
    house.catch_up()
    assert house.catalog.live == 3
    lingers = house.catalog.generations[1].linger_until
    assert lingers is not None
    assert lingers > house.now + 58


def test_a_retry_after_an_abort_inherits_nothing() -> None:
    house = House(Limits(build_deadline_seconds=100)).serving()
    house.send(usersTopic="raw.users")
    house.later().later(99)
    house.engine.tell(2, phase=Phase.BROKEN, error="killed")
    house.later()
    retry = house.send(usersTopic="raw.users")
    house.later()
    assert house.building.number == 3
    house.engine.catch_up(2)
    house.later(90)  # past the first one's deadline, not past its own
    assert house.building.state is State.BUILDING
    house.catch_up()
    assert house.outcome(retry) is Outcome.APPLIED


def test_leftovers_of_a_failed_build_do_not_poison_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()

    def cannot(number: int) -> None:
        raise BrokerError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(house.ports.topics, "delete", cannot)
        house.send(usersTopic="raw.users")
        house.later()
        house.engine.tell(2, phase=Phase.BROKEN, error="killed")
        house.later()
        assert house.numbers(State.FAILED) == [2]
        house.switch(usersTopic="raw.users")
        assert house.catalog.live == 3
        assert not set(house.live.topics) & set(house.world.changelogs[2])
    house.later(61).later()
    assert set(house.world.changelogs) == {3} == house.world.checkpoints


def test_topics_that_nobody_knows_are_not_read_as_a_new_generations_own() -> None:
    house = House().serving()
    house.world.changelogs[2] = ("pointsman.g2.final",)
    offset = house.send(usersTopic="raw.users")
    house.later().later().catch_up()
    assert house.outcome(offset) is Outcome.APPLIED
    assert house.catalog.live == 3


def test_topics_that_cannot_be_made_fail_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()

    def denied(generation: Generation) -> None:
        house.world.changelogs[generation.number] = generation.topics[:1]
        raise BrokerError("not authorised")

    with monkeypatch.context() as patch:
        patch.setattr(house.ports.topics, "create", denied)
        offset = house.send(usersTopic="raw.users")
        house.later().later()
    assert house.outcome(offset) is Outcome.FAILED
    assert set(house.world.changelogs) == {1}


@pytest.mark.parametrize("error", [NoRoom("no slots"), PipelineError("no session")])
def test_queries_that_cannot_start_fail_the_build(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    house = House().serving()
    monkeypatch.setattr(house.ports.engine, "start", _raising(error))
    offset = house.send(usersTopic="raw.users")
    house.later().later()
    assert house.outcome(offset) is Outcome.FAILED
    assert house.engine.running == {1}


def test_where_slots_are_short_the_oldest_lingering_one_makes_room() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    start = house.engine.start

    def narrow(generation: Generation) -> None:
        if len(house.engine.running) > 1:
            raise NoRoom("two generations fit, no more")
        start(generation)

    house.engine.start = narrow  # type: ignore[method-assign]
    offset = house.send(usersTopic="curated.users")
    house.later().later()
    assert set(house.catalog.generations) == {2, 3}
    house.engine.start = start  # type: ignore[method-assign]
    house.later().catch_up()
    assert house.outcome(offset) is Outcome.APPLIED


def test_a_query_that_is_down_degrades_the_status_until_it_is_back() -> None:
    house = House().serving()
    house.engine.tell(1, phase=Phase.DOWN, error="executor lost")
    house.later()
    assert house.health() is Health.DEGRADED
    assert house.status.last_error == "executor lost"
    house.engine.tell(1, phase=Phase.REAL_TIME, error="")
    house.later()
    assert house.health() is Health.SERVING
    assert house.codes().count("generation.down") == house.codes().count("generation.recovered") == 1


def test_a_query_that_was_down_and_is_back_before_anybody_looked_is_told_as_well() -> None:
    house = House().serving()
    house.engine.tell(1, restarts=1, fault="no token")
    house.later()
    down, recovered = house.world.journal[-2:]
    assert (down.code, down.message) == ("generation.down", "a query of generation 1 was down: no token")
    assert recovered.code == "generation.recovered"
    house.later()
    assert house.codes().count("generation.down") == 1


def test_a_live_generation_that_cannot_be_restarted_is_built_anew() -> None:
    house = House().serving()
    house.engine.tell(1, phase=Phase.BROKEN, error="offsets lost to retention")
    house.later()
    assert house.building.spec == spec()
    same = house.send(usersTopic="users")
    house.later()
    assert house.outcome(same) is Outcome.UNCHANGED
    assert house.building.number == 2
    house.catch_up().later()
    assert house.catalog.live == 2
    assert set(house.catalog.generations) == {2}
    assert house.health() is Health.SERVING


def test_a_broken_live_generation_without_sources_is_tried_again_with_patience() -> None:
    house = House().serving().later(5)
    house.world.readable.discard("users")
    house.engine.tell(1, phase=Phase.BROKEN, error="topic deleted")
    for _ in range(50):
        house.later(0.1)
    assert house.health() is Health.DEGRADED
    assert house.codes().count("sources.refused") == 1
    house.world.readable.add("users")
    house.later(60).catch_up()
    assert house.catalog.live == 2


def test_a_broken_lingering_generation_is_no_way_back() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.engine.tell(1, phase=Phase.BROKEN, error="gone")
    offset = house.send(rollback=True)
    house.later()
    assert 1 not in house.catalog.generations
    house.catch_up()
    assert "rebuilt" in house.verdict(offset).reason


def test_a_clock_set_back_makes_nothing_linger_longer() -> None:
    house = House(Limits(linger_seconds=60)).serving()
    house.switch(usersTopic="raw.users")
    house.now -= 86_400
    house.later(61).later()
    assert set(house.catalog.generations) == {2}


def test_progress_is_journaled_now_and_then_and_shown_always() -> None:
    house = House().serving()
    house.send(usersTopic="raw.users")
    house.later()
    house.engine.tell(2, done=412_000, total=1_000_000, rate=65_333.0)
    house.later(1)
    assert house.status.progress == "generation 2: 412,000 of 1,000,000 records, 9 s left"
    assert house.health() is Health.SWITCHING
    for _ in range(100):
        house.later(0.1)
    assert 2 <= house.codes().count("generation.progress") <= 5


def test_a_fenced_out_orchestrator_says_so_and_touches_nothing() -> None:
    house = House().serving()
    other = House()
    other.world = house.world
    other.restart()
    before = (house.world.catalog, dict(house.world.changelogs), set(house.world.checkpoints))
    house.send(usersTopic="raw.users")
    with pytest.raises(FencedOut):
        house.later()
    assert before == (house.world.catalog, dict(house.world.changelogs), set(house.world.checkpoints))


def test_an_idle_fenced_out_orchestrator_finds_out_by_its_heartbeat() -> None:
    house = House().serving()
    house.world.process().store.load()
    with pytest.raises(FencedOut):
        house.later(5)


def test_twenty_switches_leave_nothing_behind() -> None:
    house = House().serving()
    for i in range(20):
        house.switch(usersTopic=["raw.users", "curated.users"][i % 2])
    house.later(61).later()
    assert set(house.catalog.generations) == {21} == set(house.world.changelogs) == house.world.checkpoints
    assert house.engine.running == {21}


def test_changed_settings_that_fail_leave_the_old_serving_and_are_tried_again_at_the_next_start() -> None:
    house = House().serving()
    changed = with_columns("name", "email").with_overrides({"users": "new.users"}, None)
    house.restart(changed).later()
    assert house.catalog.wanted == spec()
    assert house.health() is Health.DEGRADED, "resumed, and not yet caught up"
    house.engine.catch_up(house.live.number)
    house.later()
    assert house.health() is Health.SERVING
    assert house.catalog.building is None
    house.world.readable.add("new.users")
    house.restart().later().catch_up()
    assert house.live.spec == changed


def test_a_rollback_to_a_generation_of_older_settings_outlives_a_restart() -> None:
    house = House().serving()
    changed = with_columns("name", "email")
    house.restart(changed).later().catch_up()
    assert house.live.spec == changed
    house.send(rollback=True)
    house.later()
    assert house.live.spec == spec()
    house.restart().later()
    assert house.catalog.building is None
    assert house.live.spec == spec()


def _raising(error: Exception) -> Callable[[Generation], None]:
    def start(generation: Generation) -> None:
        raise error

    return start


def test_a_shorter_linger_at_a_restart_holds_for_those_that_linger_already() -> None:
    house = House(Limits(linger_seconds=3600)).serving()
    house.switch(usersTopic="raw.users")
    house.limits = replace(house.limits, linger_seconds=10)
    house.restart().later(11).later()
    assert set(house.catalog.generations) == {2}
