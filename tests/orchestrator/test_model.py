"""Anything, in any order: messages, failures, crashes, clocks, late news. What must hold, holds after each write."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import Phase as Phases
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import MOVES, State
from pointsman.domain.progress import Phase
from tests.orchestrator.house import spec
from tests.orchestrator.test_restart import Crash, FragileHouse

USERS = ("users", "raw.users", "curated.users", "missing")
RUNNING = (State.BUILDING, State.READY, State.LIVE, State.LINGERING)

messages = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "usersTopic": st.sampled_from((*USERS, "", None, "a,b")),
            "accountsTopic": st.sampled_from(("accounts", "raw.accounts", "__offsets")),
            "joinType": st.sampled_from(("left", "INNER", "as of", "cross", None)),
            "junk": st.integers(),
        },
    ).map(json.dumps),
    st.just('{"rollback": true}'),
    st.sampled_from(["{", "[]", "", "\x00"]),
)


class AnythingMayHappen(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.house = FragileHouse()
        self.checked = 0
        self.last: Catalog | None = None
        self.was_ready: set[int] = set()
        self.house.world.loaded = {"t1": set(), "t2": set()}
        self.house.start()

    @rule(batch=st.lists(messages, min_size=1, max_size=4))
    def control_messages_come(self, batch: list[str]) -> None:
        for message in batch:
            self.house.world.send(message)

    @rule(seconds=st.sampled_from((0.0, 0.1, 0.5, 5.0, 61.0, 700.0, -3600.0)))
    def time_passes(self, seconds: float) -> None:
        self.house.now += seconds
        self.run(lambda: self.house.orchestrator.tick(self.house.now))

    @rule(ticks=st.integers(1, 3), calls=st.integers(0, 15), after=st.booleans(), caught_up=st.booleans())
    def the_process_dies_in_the_middle(self, ticks: int, calls: int, after: bool, caught_up: bool) -> None:
        if caught_up and self.house.catalog.building:
            self.catch_up(self.house.building.number)
        self.house.fuse.left, self.house.fuse.after = calls, after
        for _ in range(ticks):
            self.house.now += 0.4
            self.run(lambda: self.house.orchestrator.tick(self.house.now))

    @rule(calls=st.integers(0, 12), after=st.booleans(), inner=st.booleans())
    def it_is_started_again(self, calls: int, after: bool, inner: bool) -> None:
        """Perhaps with other settings, perhaps dying again in the start."""
        self.house.spec = spec(join=spec().join if not inner else type(spec().join).INNER)
        self.house.fuse.left, self.house.fuse.after = calls, after
        self.every_write_was_right()
        self.was_ready.clear()
        self.run(self.house.restart)

    @rule(number=st.integers(1, 12))
    def a_generation_catches_up_or_such_news_comes_late(self, number: int) -> None:
        self.catch_up(number)

    @precondition(lambda self: self.house.catalog.building is not None)
    @rule()
    def the_build_catches_up(self) -> None:
        self.catch_up(self.house.building.number)
        self.time_passes(0.4)

    @rule(users=st.sampled_from(USERS[:3]), join=st.sampled_from(("left", "inner")))
    def a_whole_switch_goes_well(self, users: str, join: str) -> None:
        self.house.world.send(json.dumps({"usersTopic": users, "joinType": join}))
        self.time_passes(0.0)
        self.time_passes(0.5)
        if self.house.catalog.building:
            self.the_build_catches_up()

    @rule(number=st.integers(1, 12), phase=st.sampled_from((Phase.DOWN, Phase.BROKEN)))
    def queries_die(self, number: int, phase: Phase) -> None:
        self.house.engine.tell(number, phase=phase, ready=False, error="died")
        self.was_ready.discard(number)

    @rule(number=st.integers(1, 12))
    def queries_take_their_time_to_stop(self, number: int) -> None:
        self.house.engine.slow_to_stop.add(number)

    @rule(number=st.integers(1, 12))
    def queries_that_were_slow_to_stop_end(self, number: int) -> None:
        leaving = self.committed().in_state(State.FREEING, State.FAILED)
        if number in {g.number for g in leaving}:
            self.house.engine.end(number)

    @rule(topic=st.sampled_from(("users", "accounts", "missing")))
    def a_source_comes_or_goes(self, topic: str) -> None:
        self.house.world.readable ^= {topic}

    @rule(server=st.sampled_from(("t1", "t2")))
    def a_tables_server_follows_the_catalog(self, server: str) -> None:
        self.house.world.loaded[server] = {g.number for g in self.committed().in_state(*RUNNING)}

    @rule(server=st.sampled_from(("t1", "t2")))
    def a_tables_server_dies(self, server: str) -> None:
        self.house.world.loaded.pop(server, None)

    @invariant()
    def every_write_was_right(self) -> None:
        if not hasattr(self, "house"):
            return
        for catalog in self.house.world.commits[self.checked :]:
            self.one_write(catalog)
            self.last = catalog
        self.checked = len(self.house.world.commits)

    @invariant()
    def what_runs_or_may_be_shown_is_there(self) -> None:
        if hasattr(self, "house") and self.house.world.catalog is not None:
            for generation in self.committed().in_state(*RUNNING):
                assert generation.number in self.house.world.changelogs
            shown = self.committed().live
            assert shown is None or shown in self.house.world.checkpoints
            written_to = self.house.engine.running
            assert written_to <= set(self.house.world.changelogs), "topics were deleted under a running query"
            assert written_to <= self.house.world.checkpoints, "a checkpoint was deleted under a running query"

    @invariant()
    def every_message_is_answered_once_or_still_waits(self) -> None:
        if hasattr(self, "house"):
            answered = [v.offset for v in self.house.world.verdicts]
            waiting = [p.offset for p in self.committed().pending]
            assert sorted(answered + waiting) == list(range(self.committed().next_control.get(0, 0)))

    def one_write(self, catalog: Catalog) -> None:
        live = catalog.in_state(State.LIVE)
        assert [g.number for g in live] == ([] if catalog.live is None else [catalog.live])
        assert len(catalog.in_state(State.BUILDING, State.READY)) <= 1
        assert len(catalog.lingering) <= self.house.limits.max_lingering
        assert not catalog.pending or not live or live[0].spec != catalog.wanted, "someone waits for what is live"
        assert Catalog.from_bytes(catalog.to_bytes()) == catalog
        before = self.last
        if before is None:
            return
        assert live or before.live is None, "there was a live generation and now there is none"
        assert catalog.next_number >= before.next_number
        for number, old in before.generations.items():
            new = catalog.generations[number].state if number in catalog.generations else State.FREED
            assert reachable(old.state, new), f"{old.state} → {new}"
        if catalog.live != before.live and catalog.live is not None:
            replaced = before.generations[catalog.live]
            assert replaced.state is State.LINGERING or catalog.live in self.was_ready

    def catch_up(self, number: int) -> None:
        if number in self.house.engine.running:
            self.house.engine.catch_up(number)
            self.was_ready.add(number)

    def committed(self) -> Catalog:
        data = self.house.world.catalog
        return Catalog() if data is None else Catalog.from_bytes(data)

    def run(self, act: Any) -> None:
        try:
            act()
        except Crash:
            self.every_write_was_right()  # by what was ready before the crash
            self.was_ready.clear()
            self.house.restart()

    def teardown(self) -> None:
        """Left in peace, the world comes to rest: all answered, the wish fulfilled, nothing left over."""
        if not hasattr(self, "house"):
            return
        house = self.house
        house.fuse.left = None
        house.world.readable |= {"users", "accounts", "missing"}
        house.engine.slow_to_stop.clear()
        for _ in range(12):
            house.world.loaded = {}
            for number in house.engine.running:
                self.catch_up(number)
            self.time_passes(62)
        self.every_write_was_right()
        assert house.live.spec == house.catalog.wanted
        assert sorted(v.offset for v in house.world.verdicts) == list(range(len(house.world.control)))
        alive = {house.live.number}
        assert set(house.catalog.generations) == alive == set(house.world.changelogs) == house.world.checkpoints
        assert house.engine.running == alive


def reachable(start: State, end: State) -> bool:
    seen, todo = {start}, [start]
    while todo:
        for state in MOVES[todo.pop()] - seen:
            seen.add(state)
            todo.append(state)
    return end in seen


TestAnythingMayHappen = AnythingMayHappen.TestCase
TestAnythingMayHappen.settings = settings(
    max_examples=int(os.environ.get("POINTSMAN_TEST_EXAMPLES", "50")),
    stateful_step_count=40,
    deadline=None,
    phases=[Phases.explicit, Phases.generate],  # shrinking forty steps takes minutes; ask for it when it is needed
    suppress_health_check=[HealthCheck.too_slow],
)
