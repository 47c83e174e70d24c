"""The plan: from what the catalog says and what is wanted, the steps to take, in order, as plain data.

    CancelBuild        a build that is no longer wanted ends, and is cleaned up like a failed one
    EndLinger          a replaced generation's time is over (or there are too many of them)
    FreeGeneration     every tables server has let go of it: queries stopped, topics and checkpoint deleted
    ValidateSources    topics exist, are readable, and a sample of their newest records parses
    BuildGeneration    topics made, BUILDING persisted, queries started beside the live ones
    AwaitCaughtUp      its queries run in real time and have covered what the sources held after that
    Publish            one write: it is live, the one it replaces lingers

The plan is made anew from the catalog at every tick, so that going on after a crash and just going on are the
same thing. `pointsman plan` prints this very list.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import Spec


@dataclass(frozen=True)
class Limits:
    linger_seconds: float = 60
    max_lingering: int = 2
    build_deadline_seconds: float = 600


@dataclass(frozen=True)
class CancelBuild:
    number: int

    def __str__(self) -> str:
        return f"cancel the build of generation {self.number}: it is no longer wanted"


@dataclass(frozen=True)
class EndLinger:
    number: int
    seconds: float  # from now; 0: its time is over, or it is broken, or one too many

    def __str__(self) -> str:
        when = f"after {self.seconds:.0f} s" if self.seconds else "now"
        return f"end the linger of generation {self.number} {when}"


@dataclass(frozen=True)
class FreeGeneration:
    number: int

    def __str__(self) -> str:
        return (
            f"free generation {self.number}: when no tables server holds it, stop its queries, "
            "delete its topics and checkpoint"
        )


@dataclass(frozen=True)
class ValidateSources:
    spec: Spec

    def __str__(self) -> str:
        topics = ", ".join(f"{s.name} from '{s.topic}'" for s in self.spec.sources)
        return f"validate the sources: {topics}"


@dataclass(frozen=True)
class BuildGeneration:
    number: int
    spec: Spec

    def __str__(self) -> str:
        return f"build generation {self.number}, a {self.spec.join} join, beside what is live"


@dataclass(frozen=True)
class AwaitCaughtUp:
    number: int
    deadline_seconds: float

    def __str__(self) -> str:
        return (
            f"wait until generation {self.number} has caught up and runs in real time, "
            f"at most {self.deadline_seconds:.0f} s"
        )


@dataclass(frozen=True)
class Publish:
    number: int
    replaces: int | None

    def __str__(self) -> str:
        lingers = f"; generation {self.replaces} lingers" if self.replaces is not None else ""
        return f"publish generation {self.number} in one write{lingers}"


Step = CancelBuild | EndLinger | FreeGeneration | ValidateSources | BuildGeneration | AwaitCaughtUp | Publish


def plan(catalog: Catalog, now: float, limits: Limits, broken: Collection[int] = ()) -> tuple[Step, ...]:
    """The steps from here to where the wanted spec is live and everything else is gone.

    `broken` names generations that no restart can mend: a broken live one is built anew, a broken lingering one
    is of no use to a rollback.
    """
    unwanted = _unwanted(catalog, broken)
    cancel = (CancelBuild(unwanted.number),) if unwanted else ()
    return (*cancel, *_tidy(catalog, now, limits, broken), *_story(catalog, limits, broken))


def _unwanted(catalog: Catalog, broken: Collection[int]) -> Generation | None:
    """The build under way, if it is of another spec than the wanted one, or if that one is live and well."""
    building = catalog.building
    if building is None or (building.spec == catalog.wanted and not _satisfied(catalog, broken)):
        return None
    return building


def _satisfied(catalog: Catalog, broken: Collection[int]) -> bool:
    live = catalog.live_generation
    return live is not None and live.spec == catalog.wanted and live.number not in broken


def _tidy(catalog: Catalog, now: float, limits: Limits, broken: Collection[int]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for rank, generation in enumerate(catalog.lingering):
        useless = rank >= limits.max_lingering or generation.number in broken
        left = 0.0 if useless else max(0.0, (generation.linger_until or now) - now)
        steps += [EndLinger(generation.number, left), FreeGeneration(generation.number)]
    leaving = catalog.in_state(State.FREEING, State.FAILED)
    unwanted = _unwanted(catalog, broken)
    return (*steps, *(FreeGeneration(g.number) for g in (*leaving, *([unwanted] if unwanted else []))))


def _story(catalog: Catalog, limits: Limits, broken: Collection[int]) -> tuple[Step, ...]:
    wanted, live, building = catalog.wanted, catalog.live_generation, catalog.building
    if wanted is None or _satisfied(catalog, broken):
        return ()
    if building is not None and building.spec == wanted:
        return (AwaitCaughtUp(building.number, limits.build_deadline_seconds), *_ending(building.number, live, limits))
    number = catalog.next_number
    return (
        ValidateSources(wanted),
        BuildGeneration(number, wanted),
        AwaitCaughtUp(number, limits.build_deadline_seconds),
        *_ending(number, live, limits),
    )


def _ending(number: int, live: Generation | None, limits: Limits) -> tuple[Step, ...]:
    if live is None:
        return (Publish(number, None),)
    return (
        Publish(number, live.number),
        EndLinger(live.number, limits.linger_seconds if limits.max_lingering else 0),
        FreeGeneration(live.number),
    )
