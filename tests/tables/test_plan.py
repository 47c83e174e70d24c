"""What a tables server does next, as a function of what it knows."""

from __future__ import annotations

from pointsman import settings
from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import Generation, State
from pointsman.tables.plan import Load, Release, Show, Step, plan

SPEC = settings.load(env={}, flags={}).spec()
NOTHING: frozenset[int] = frozenset()


def generation(number: int, state: State) -> Generation:
    return Generation(number, state, SPEC, {s.name: f"g{number}.{s.name}" for s in SPEC.sources}, "final", "")


def catalog(live: int | None = None, **states: State) -> Catalog:
    generations = [generation(int(name[1:]), state) for name, state in states.items()]
    return Catalog(live=live, generations={g.number: g for g in generations})


def steps(known: Catalog, loaded: set[int], caught_up: set[int], shown: int | None, settled: bool = True) -> list[Step]:
    return plan(known, loaded, caught_up, shown, settled)


def test_a_generation_is_loaded_as_soon_as_it_is_being_built() -> None:
    known = catalog(g1=State.BUILDING)
    assert steps(known, set(), set(), None) == [Load(known.generations[1])]


def test_a_generation_that_is_not_live_is_not_shown() -> None:
    assert steps(catalog(g1=State.READY), {1}, {1}, None) == []


def test_the_live_one_is_shown_when_it_has_been_read() -> None:
    known = catalog(live=2, g1=State.LINGERING, g2=State.LIVE)
    assert steps(known, {1, 2}, {1}, 1) == []
    assert steps(known, {1, 2}, {1, 2}, 1) == [Show(2)]


def test_a_lingering_generation_stays_loaded_and_comes_back_at_once() -> None:
    assert steps(catalog(live=2, g1=State.LINGERING, g2=State.LIVE), {1, 2}, {1, 2}, 2) == []
    assert steps(catalog(live=1, g1=State.LIVE, g2=State.LINGERING), {1, 2}, {1, 2}, 2) == [Show(1)]


def test_what_is_freed_failed_or_forgotten_is_released() -> None:
    known = catalog(live=4, g1=State.FREEING, g2=State.FAILED, g4=State.LIVE)
    assert steps(known, {1, 2, 3, 4}, {4}, 4) == [Release(1), Release(2), Release(3)]


def test_nothing_is_released_before_the_switch_has_been_seen() -> None:
    known = catalog(live=2, g1=State.FREEING, g2=State.LIVE)
    assert steps(known, {1, 2}, {2}, 1) == [Show(2)]
    assert steps(known, {1, 2}, {2}, 2, settled=False) == []
    assert steps(known, {1, 2}, {2}, 2) == [Release(1)]


def test_what_is_shown_stays_until_another_can_take_its_place() -> None:
    assert steps(catalog(live=2, g1=State.FREEING, g2=State.LIVE), {1, 2}, set(), 1) == []
    assert steps(Catalog(), {1}, set(), 1) == []
