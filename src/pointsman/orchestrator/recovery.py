"""The first thing an orchestrator does: take over the catalog, and go on where whoever wrote it stopped."""

from __future__ import annotations

from dataclasses import replace

from pointsman.domain.catalog import Catalog, Overrides
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Code
from pointsman.domain.spec import Spec
from pointsman.orchestrator.intake import describe
from pointsman.orchestrator.writes import Write


def taken_over(found: Catalog | None, settings: Spec, leftovers: frozenset[int], now: float) -> Write:
    """What the catalog says after a start with these settings.

    `leftovers` are the numbers of generations that have topics or checkpoints; a number that the catalog does not
    know is never used again, because its topics may still be vanishing while a new generation is built.
    """
    catalog = found or Catalog()
    orphans = leftovers - set(catalog.generations)
    write = Write(replace(catalog, next_number=max([catalog.next_number, *(n + 1 for n in orphans)])), now)
    _follow_settings(write, settings, known=found is not None)
    building = write.catalog.building
    if building is not None:
        # The deadline is for time spent building, not for time spent dead.
        write.catalog = write.catalog.put(replace(building, started=now))
    live = write.catalog.live_generation
    write.say(Code.STARTED, f"started with {_showing(live)}, wanted: {describe(settings_wish(write.catalog))}")
    return write


def settings_wish(catalog: Catalog) -> Spec:
    wanted = catalog.wanted
    assert wanted is not None, "the settings are always followed first"
    return wanted


def to_resume(catalog: Catalog) -> list[Generation]:
    """Whose queries must run, the most important first. One that is no longer wanted is not worth resuming."""
    live = catalog.in_state(State.LIVE)
    building = [g for g in catalog.in_state(State.BUILDING, State.READY) if g.spec == catalog.wanted]
    return [*live, *building, *catalog.lingering]


def _follow_settings(write: Write, settings: Spec, *, known: bool) -> None:
    catalog = write.catalog
    if catalog.base is not None and catalog.settings_fingerprint == settings.fingerprint:
        return
    before = catalog.wanted
    names = {source.name for source in settings.sources}
    kept = Overrides({s: t for s, t in catalog.overrides.topics.items() if s in names}, catalog.overrides.join)
    catalog = replace(catalog, base=settings, overrides=kept, settings_fingerprint=settings.fingerprint)
    if known and before is not None and catalog.wanted != before:
        write.supersede_pending("changed settings")
        write.say(Code.SETTINGS_CHANGED, f"the settings changed; wanted now: {describe(settings_wish(catalog))}")
    write.catalog = replace(catalog, pending=write.catalog.pending)


def _showing(live: Generation | None) -> str:
    return "nothing live yet" if live is None else f"generation {live.number} live"
