"""What is true now, in one row, and what changed about the queries since the last look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import State
from pointsman.domain.journal import Code, Entry, Level
from pointsman.domain.progress import Phase, Progress
from pointsman.domain.status import Health, Status
from pointsman.ports import Ports

STOPPED = Progress(Phase.DOWN)
RUNNING = (Phase.CATCHING_UP, Phase.REAL_TIME)
MOST_UNTOLD = 100  # an outage of hours must not fill the memory


class Reporter:
    """Writes the status when it changes and as a heartbeat, and journals progress and outages."""

    def __init__(self, heartbeat: float, progress_entry: float) -> None:
        self._heartbeat, self._progress_entry = heartbeat, progress_entry
        self._last: Status | None = None
        self._told_progress: tuple[int, float] | None = None  # generation, when
        self._seen: dict[int, tuple[Phase, int]] = {}  # phase and restarts of each, at the last look
        self._untold: list[Entry] = []  # what could not be written when it happened

    def report(
        self, catalog: Catalog, ports: Ports, running: Collection[int], unable: Mapping[int, str], now: float
    ) -> None:
        progress = {n: ports.engine.progress(n) for n in running}
        progress |= {n: Progress(Phase.BROKEN, error=error) for n, error in unable.items()}
        self._untold += [*self._outages(progress, now), *self._progress(catalog, progress, now)]
        entries = self._untold = self._untold[-MOST_UNTOLD:]
        status = status_of(catalog, progress, now)
        due = self._last is None or not 0 <= now - self._last.at < self._heartbeat
        changed = self._last is None or replace(self._last, at=now) != _calm(status, self._last)
        if due or changed or entries:
            ports.store.report(status if due or changed else None, entries)
            self._untold = []
            self._last = status if due or changed else self._last

    def _outages(self, progress: Mapping[int, Progress], now: float) -> list[Entry]:
        entries = []
        for number, seen in progress.items():
            before, restarts = self._seen.get(number, (None, 0))
            if seen.restarts > restarts and before is not Phase.DOWN and seen.phase in RUNNING:
                # Down and up again between two looks, which a broker that is away makes far apart.
                entries.append(_entry(now, Code.DOWN, f"a query of generation {number} was down: {seen.fault}", number))
                entries.append(_entry(now, Code.RECOVERED, f"generation {number} runs again", number))
            elif seen.phase is before:
                continue
            elif seen.phase is Phase.DOWN:
                entries.append(_entry(now, Code.DOWN, f"a query of generation {number} is down: {seen.error}", number))
            elif seen.phase is Phase.BROKEN:
                entries.append(_entry(now, Code.BROKEN, f"generation {number} cannot run: {seen.error}", number))
            elif before in (Phase.DOWN, Phase.BROKEN):
                entries.append(_entry(now, Code.RECOVERED, f"generation {number} runs again", number))
        self._seen = {number: (seen.phase, seen.restarts) for number, seen in progress.items()}
        return entries

    def _progress(self, catalog: Catalog, progress: Mapping[int, Progress], now: float) -> list[Entry]:
        building = catalog.building
        if building is None or building.number not in progress:
            return []
        if self._told_progress is not None:
            number, at = self._told_progress
            if number == building.number and 0 <= now - at < self._progress_entry:
                return []
        self._told_progress = building.number, now
        text = progress[building.number].describe()
        return [_entry(now, Code.PROGRESS, f"generation {building.number}: {text}", building.number)]


def status_of(catalog: Catalog, progress: Mapping[int, Progress], now: float) -> Status:
    """The one status row."""
    live, building = catalog.live_generation, catalog.building
    shown = live.spec if live else catalog.wanted
    assert shown is not None, "there is no status before the settings are in the catalog"
    serving = progress.get(live.number, STOPPED) if live else STOPPED
    build = progress.get(building.number, STOPPED) if building else STOPPED
    error = catalog.last_error
    if live and serving.phase in (Phase.DOWN, Phase.BROKEN):
        error = serving.error or error
    return Status(
        topics={source.name: source.topic for source in shown.sources},
        join=shown.join.value,
        last_applied=_iso(catalog.last_applied),
        generation=catalog.live,
        state=_health(catalog, serving),
        progress=f"generation {building.number}: {build.describe()}" if building else "",
        lag=serving.lag,
        freshness=serving.freshness,
        rate=serving.rate,
        last_error=error,
        at=now,
        lags=serving.lags,
    )


def _health(catalog: Catalog, serving: Progress) -> Health:
    if catalog.live is None:
        waiting = catalog.building is None and (catalog.last_error or catalog.in_state(State.FAILED))
        return Health.FAILED if waiting else Health.STARTING
    if serving.phase is not Phase.REAL_TIME:
        return Health.DEGRADED  # also while it catches up after a restart: what is shown is not yet what is there
    return Health.SWITCHING if catalog.building else Health.SERVING


def _calm(status: Status, last: Status) -> Status:
    """Measurements that move all the time are no change by themselves; the heartbeat carries them."""
    moving = {name: getattr(last, name) for name in ("lag", "lags", "freshness", "rate", "progress")}
    return replace(status, **moving)


def _iso(at: float | None) -> str:
    return (
        "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _entry(now: float, code: Code, message: str, number: int) -> Entry:
    level = {Code.DOWN: Level.WARN, Code.BROKEN: Level.ERROR}.get(code, Level.INFO)
    return Entry(now, level, code.value, message, number)
