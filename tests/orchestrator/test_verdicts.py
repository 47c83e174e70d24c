"""Every control message gets exactly one verdict, and the right one."""

from __future__ import annotations

import json

import pytest

from pointsman.domain.cutover import Limits
from pointsman.domain.generation import State
from pointsman.domain.progress import Phase
from pointsman.domain.spec import JoinType
from pointsman.domain.status import Health
from pointsman.domain.verdict import Outcome
from tests.orchestrator.house import House, spec


def test_a_switch_is_applied_when_the_new_generation_is_live() -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users", requestId="r1", color="red")
    house.later()
    assert house.world.verdict_of(offset) is None
    house.now += 7
    house.catch_up()
    verdict = house.verdict(offset)
    assert (verdict.outcome, verdict.generation, verdict.request_id) == (Outcome.APPLIED, 2, "r1")
    assert verdict.ignored == ("color",)
    assert verdict.duration_ms == pytest.approx(7500, abs=600)
    assert house.live.spec == spec(users="raw.users")


def test_what_is_live_already_is_unchanged_and_refreshes_last_applied() -> None:
    house = House().serving()
    before = house.status.last_applied
    house.now += 100
    offset = house.send(usersTopic=" users ", joinType="LEFT_OUTER")
    house.later(2)
    assert house.outcome(offset) is Outcome.UNCHANGED
    assert house.catalog.next_number == 2
    assert house.status.last_applied > before


@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"[]", b"42", b"\xff\xfe", b'{"joinType": "cross"}', b"[" * 100_000]
)
def test_what_cannot_be_read_is_refused_and_changes_nothing(value: bytes | None) -> None:
    house = House().serving()
    offset = house.world.send(value)
    house.later()
    assert house.outcome(offset) is Outcome.REFUSED
    assert house.catalog.building is None
    assert house.catalog.live == 1


def test_a_missing_topic_is_refused_with_the_one_that_was_meant() -> None:
    house = House().serving()
    offset = house.send(accountsTopic="acounts")
    house.later()
    verdict = house.verdict(offset)
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.reason == "accountsTopic: topic 'acounts' does not exist; did you mean 'accounts'?"


def test_a_refused_message_leaves_the_build_under_way_alone() -> None:
    house = House().serving()
    good = house.send(usersTopic="raw.users")
    house.later()
    bad = house.send(usersTopic="missing")
    house.later().catch_up()
    assert house.outcome(bad) is Outcome.REFUSED
    assert house.outcome(good) is Outcome.APPLIED


def test_a_build_that_breaks_is_failed_and_the_old_one_goes_on() -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users")
    house.later()
    house.engine.tell(2, phase=Phase.BROKEN, error="no such offset")
    house.later()
    verdict = house.verdict(offset)
    assert verdict.outcome is Outcome.FAILED
    assert "no such offset" in verdict.reason
    assert "generation 1 goes on" in verdict.reason
    assert house.catalog.live == 1
    assert house.catalog.wanted == house.live.spec
    assert house.health() is Health.SERVING
    assert house.status.last_error == "no such offset"
    assert set(house.world.changelogs) == {1} == house.world.checkpoints == set(house.engine.running)


def test_a_build_past_its_deadline_is_failed() -> None:
    house = House(Limits(build_deadline_seconds=600)).serving()
    offset = house.send(usersTopic="raw.users")
    house.later().later(599)
    assert house.world.verdict_of(offset) is None
    house.later(2)
    assert house.outcome(offset) is Outcome.FAILED
    assert "build_deadline_seconds" in house.verdict(offset).reason


def test_a_newer_message_supersedes_the_build_and_keeps_what_it_does_not_name() -> None:
    house = House().serving()
    first = house.send(usersTopic="raw.users")
    house.later()
    second = house.send(joinType="inner")
    house.later()
    assert house.outcome(first) is Outcome.SUPERSEDED
    assert house.building.spec == spec(users="raw.users", join=JoinType.INNER)
    house.catch_up()
    assert house.outcome(second) is Outcome.APPLIED
    assert house.catalog.live == 3


def test_asking_for_what_is_live_cancels_the_build() -> None:
    house = House().serving()
    first = house.send(usersTopic="raw.users")
    house.later()
    back = house.send(usersTopic="users")
    house.later()
    assert house.outcome(first) is Outcome.SUPERSEDED
    assert house.outcome(back) is Outcome.UNCHANGED
    assert house.catalog.building is None
    assert set(house.catalog.generations) == {1}
    assert house.world.checkpoints == {1}


def test_asking_again_for_what_is_being_built_is_answered_with_that_build() -> None:
    house = House().serving()
    first = house.send(usersTopic="raw.users")
    house.later()
    again = house.send(usersTopic="raw.users")
    house.later().catch_up()
    assert house.outcome(first) is house.outcome(again) is Outcome.APPLIED
    assert house.catalog.live == 2


def test_a_thousand_messages_are_one_build_and_a_thousand_verdicts_and_the_last_valid_wins() -> None:
    house = House().serving()
    names = ["raw.users", "curated.users", "missing", "users"]
    for i in range(998):
        house.send(usersTopic=names[i % 4], requestId=str(i))
        if i % 100 == 0:
            house.orchestrator.tick(house.now)
            house.now += 0.1
    wins = house.send(usersTopic="raw.users", joinType="inner")
    refused = house.send(usersTopic="missing")
    house.later().catch_up()
    assert sorted(v.offset for v in house.world.verdicts) == list(range(1000))
    assert house.outcome(wins) is Outcome.APPLIED
    assert house.outcome(refused) is Outcome.REFUSED
    assert house.live.spec == spec(users="raw.users", join=JoinType.INNER)
    assert house.catalog.next_number <= 4


def test_an_endless_flood_does_not_keep_a_build_from_starting() -> None:
    house = House().serving()
    for i in range(30):
        house.send(usersTopic=["raw.users", "curated.users"][i % 2])
        house.orchestrator.tick(house.now)
        house.now += 0.1
    assert house.catalog.next_number >= 3


def test_more_messages_for_one_build_than_the_catalog_holds_are_all_answered() -> None:
    house = House().serving()
    offsets = [house.send(usersTopic="raw.users") for _ in range(250)]
    house.later()
    assert len(house.catalog.to_bytes()) < 50_000
    house.catch_up()
    outcomes = [house.outcome(offset) for offset in offsets]
    assert outcomes == [Outcome.SUPERSEDED] * 150 + [Outcome.APPLIED] * 100


def test_with_nothing_live_a_failed_first_build_is_mended_by_the_next_message() -> None:
    house = House()
    house.world.readable.discard("users")
    house.start().later(2)
    assert house.catalog.live is None
    assert house.health() is Health.FAILED
    assert "topic 'users' does not exist" in house.status.last_error
    inner = house.send(joinType="inner")
    house.later()
    assert house.outcome(inner) is Outcome.REFUSED
    mend = house.send(usersTopic="raw.users")
    house.later().catch_up()
    assert house.outcome(mend) is Outcome.APPLIED
    assert house.live.spec == spec(users="raw.users", join=JoinType.INNER)
    assert house.health() is Health.SERVING
    assert house.status.last_error == ""


def test_with_nothing_live_a_topic_that_appears_is_found_without_a_message() -> None:
    house = House()
    house.world.readable.discard("users")
    house.start().later()
    house.world.readable.add("users")
    house.later(60).catch_up()
    assert house.catalog.live == 1


def test_history_without_a_catalog_is_folded_into_one_build() -> None:
    house = House()
    offsets = [
        house.send(usersTopic="raw.users"),
        house.send(joinType="bogus"),
        house.send(joinType="inner"),
        house.send(rollback=True),
    ]
    house.start().later().catch_up()
    assert [house.outcome(o) for o in offsets] == [
        Outcome.SUPERSEDED,
        Outcome.REFUSED,
        Outcome.APPLIED,
        Outcome.REFUSED,
    ]
    assert house.catalog.live == 1
    assert house.live.spec == spec(users="raw.users", join=JoinType.INNER)


def test_a_rollback_is_at_once_and_builds_nothing() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    offset = house.send(rollback=True)
    house.orchestrator.tick(house.now)
    assert house.outcome(offset) is Outcome.APPLIED
    assert house.catalog.live == 1
    assert house.catalog.next_number == 3
    assert house.numbers(State.LINGERING) == [2]
    assert house.catalog.wanted == spec()
    again = house.send(rollback=True)
    house.orchestrator.tick(house.now)
    assert house.outcome(again) is Outcome.APPLIED
    assert house.catalog.live == 2


def test_a_rollback_goes_to_what_was_live_before_not_to_the_highest_number() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.send(rollback=True)
    house.later()
    house.switch(usersTopic="curated.users")
    assert (house.catalog.live, house.numbers(State.LINGERING)) == (3, [1, 2])
    house.send(rollback=True)
    house.later()
    assert house.catalog.live == 1


def test_a_rollback_with_nothing_lingering_rebuilds_the_previous_spec_and_says_so() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    house.later(61).later()
    assert set(house.catalog.generations) == {2}
    offset = house.switch(rollback=True)
    verdict = house.verdict(offset)
    assert (verdict.outcome, verdict.generation) == (Outcome.APPLIED, 3)
    assert "rebuilt" in verdict.reason
    assert house.live.spec == spec()


def test_a_rollback_with_no_way_back_is_refused() -> None:
    house = House().serving()
    offset = house.send(rollback=True)
    house.later()
    assert house.outcome(offset) is Outcome.REFUSED


def test_a_rollback_supersedes_the_build_under_way() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    building = house.send(usersTopic="curated.users")
    house.later()
    rollback = house.send(rollback=True)
    house.later()
    assert house.outcome(building) is Outcome.SUPERSEDED
    assert house.outcome(rollback) is Outcome.APPLIED
    assert house.catalog.building is None
    assert house.catalog.live == 1


def test_of_many_rollbacks_at_once_only_the_last_is_applied() -> None:
    house = House().serving()
    house.switch(usersTopic="raw.users")
    offsets = [house.send(rollback=True) for _ in range(3)]
    house.later()
    assert [house.outcome(o) for o in offsets] == [Outcome.SUPERSEDED, Outcome.SUPERSEDED, Outcome.APPLIED]
    assert house.catalog.live == 1


def test_a_message_can_only_name_topics_and_a_join() -> None:
    house = House().serving()
    offset = house.world.send(json.dumps({"kafka.sasl.password": "x", "columns": {"a": "long"}}))
    house.later()
    verdict = house.verdict(offset)
    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.ignored == ("kafka.sasl.password", "columns")


def test_one_topic_for_two_sources_is_refused() -> None:
    house = House().serving()
    offset = house.send(usersTopic="raw.users", accountsTopic="raw.users")
    house.later()
    assert house.outcome(offset) is Outcome.REFUSED
    assert "more than one source" in house.verdict(offset).reason
