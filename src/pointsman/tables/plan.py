"""What a tables server should do next, given the catalog and what it holds. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import Generation, State

KEPT = frozenset({State.BUILDING, State.READY, State.LIVE, State.LINGERING})


@dataclass(frozen=True)
class Load:
    """Start reading a generation's changelogs."""

    generation: Generation


@dataclass(frozen=True)
class Show:
    """Switch every data table to this generation."""

    number: int


@dataclass(frozen=True)
class Release:
    """Stop reading a generation and free its memory."""

    number: int


Step = Load | Show | Release


def plan(catalog: Catalog, loaded: Set[int], caught_up: Set[int], shown: int | None, settled: bool) -> list[Step]:
    """The steps that can be taken now, in order.

    `caught_up`: loaded generations read to where the catalog says; `settled`: the last switch has been seen
    downstream, so that what was shown before may go. What is shown is never released: a generation that the
    catalog has dropped stays on screen until another one can take its place.
    """
    kept = {g.number: g for g in catalog.in_state(*KEPT)}
    steps: list[Step] = [Load(g) for number, g in kept.items() if number not in loaded]
    becomes = shown
    if catalog.live is not None and catalog.live != shown and catalog.live in caught_up:
        steps.append(Show(catalog.live))
        becomes = catalog.live
    if settled and becomes == shown:
        steps += [Release(number) for number in sorted(loaded) if number not in kept and number != shown]
    return steps
