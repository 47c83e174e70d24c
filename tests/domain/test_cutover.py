"""The plan is data, and reads as the story."""

from __future__ import annotations

from dataclasses import replace

from pointsman.domain.catalog import Catalog
from pointsman.domain.cutover import (
    AwaitCaughtUp,
    BuildGeneration,
    CancelBuild,
    EndLinger,
    FreeGeneration,
    Limits,
    Publish,
    ValidateSources,
    plan,
)
from pointsman.domain.generation import State
from tests.domain.test_catalog import catalog, generation
from tests.orchestrator.house import SPEC, spec

LIMITS = Limits(linger_seconds=60, max_lingering=2, build_deadline_seconds=600)
OTHER = spec(users="raw.users")


def test_before_anything_is_known_there_is_nothing_to_do() -> None:
    assert plan(Catalog(), 0, LIMITS) == ()


def test_the_first_build_replaces_nothing() -> None:
    assert plan(Catalog(base=SPEC), 0, LIMITS) == (
        ValidateSources(SPEC),
        BuildGeneration(1, SPEC),
        AwaitCaughtUp(1, 600),
        Publish(1, None),
    )


def test_a_switch_is_the_whole_story() -> None:
    steps = plan(catalog(generation(1, State.LIVE)).wanting(OTHER), 0, LIMITS)
    assert steps == (
        ValidateSources(OTHER),
        BuildGeneration(2, OTHER),
        AwaitCaughtUp(2, 600),
        Publish(2, 1),
        EndLinger(1, 60),
        FreeGeneration(1),
    )
    assert [str(step) for step in steps] == [
        "validate the sources: users from 'raw.users', accounts from 'accounts'",
        "build generation 2, a left join, beside what is live",
        "wait until generation 2 has caught up and runs in real time, at most 600 s",
        "publish generation 2 in one write; generation 1 lingers",
        "end the linger of generation 1 after 60 s",
        "free generation 1: when no tables server holds it, stop its queries, delete its topics and checkpoint",
    ]


def test_where_the_wanted_is_live_there_is_nothing_to_do() -> None:
    assert plan(catalog(generation(1, State.LIVE)), 0, LIMITS) == ()


def test_a_build_under_way_is_not_begun_again() -> None:
    steps = plan(catalog(generation(1, State.LIVE), generation(2, State.BUILDING, OTHER)).wanting(OTHER), 0, LIMITS)
    assert steps[:2] == (AwaitCaughtUp(2, 600), Publish(2, 1))


def test_a_build_of_something_else_is_cancelled_before_the_next_begins() -> None:
    two = generation(2, State.READY, spec(users="curated.users"))
    steps = plan(catalog(generation(1, State.LIVE), two).wanting(OTHER), 0, LIMITS)
    assert steps[:4] == (CancelBuild(2), FreeGeneration(2), ValidateSources(OTHER), BuildGeneration(3, OTHER))


def test_a_build_is_cancelled_when_what_is_live_is_wanted() -> None:
    steps = plan(catalog(generation(1, State.LIVE), generation(2, State.BUILDING, OTHER)), 0, LIMITS)
    assert steps == (CancelBuild(2), FreeGeneration(2))


def test_a_broken_live_generation_is_built_anew_and_not_cancelled() -> None:
    broken = catalog(generation(1, State.LIVE))
    assert BuildGeneration(2, SPEC) in plan(broken, 0, LIMITS, broken={1})
    repair = catalog(generation(1, State.LIVE), generation(2, State.BUILDING))
    assert plan(repair, 0, LIMITS, broken={1})[0] == AwaitCaughtUp(2, 600)


def test_what_lingers_ends_when_its_time_is_over_or_it_is_broken_or_one_too_many() -> None:
    lingering = [replace(generation(n, State.LINGERING), linger_until=100.0, published=n) for n in (1, 2)]
    one = catalog(*lingering, generation(3, State.LIVE))
    assert [s.seconds for s in plan(one, 90, LIMITS) if isinstance(s, EndLinger)] == [10, 10]
    assert [s.seconds for s in plan(one, 101, LIMITS) if isinstance(s, EndLinger)] == [0, 0]
    broken = plan(one, 90, LIMITS, broken={2})
    assert {s.number: s.seconds for s in broken if isinstance(s, EndLinger)} == {2: 0, 1: 10}
    fewer = plan(one, 90, replace(LIMITS, max_lingering=1))
    assert {s.number: s.seconds for s in fewer if isinstance(s, EndLinger)} == {2: 10, 1: 0}


def test_failed_and_leaving_generations_are_freed_whatever_else_happens() -> None:
    one = catalog(generation(1, State.LIVE), generation(2, State.FAILED), generation(3, State.FREEING))
    assert plan(one, 0, LIMITS) == (FreeGeneration(2), FreeGeneration(3))
