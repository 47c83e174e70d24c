"""Keeping the fleet alive: start each process when those before it are ready, and start again what dies.

A process that ends before it was ever ready has a reason that a second try would not mend (a missing jar, a wrong
setting): it is told once, as FleetError. One that dies later is started again, after a pause that doubles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from pointsman.domain.errors import NOT_ALLOWED, FleetError, ShutOut
from pointsman.fleet.child import Child, Role

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
STEADY_SECONDS = 60.0  # a process that was ready for so long has earned the first pause again
STOP_SECONDS = 10.0
LATER_SHARE = 0.35  # of the time to stop, for those that others come after


@dataclass(frozen=True)
class Starting:
    role: str
    attempt: int


@dataclass(frozen=True)
class Ready:
    role: str
    says: str
    seconds: float


@dataclass(frozen=True)
class Died:
    role: str
    code: int
    words: str
    pause: float


@dataclass(frozen=True)
class Stopped:
    role: str
    killed: bool


Event = Starting | Ready | Died | Stopped


class Phase(Enum):
    WAITING = auto()  # for those before it, or for the end of its pause
    STARTING = auto()  # it runs and is not ready
    READY = auto()
    ENDED = auto()  # for good


@dataclass
class _Place:
    """Where one role stands."""

    role: Role
    phase: Phase = Phase.WAITING
    child: Child | None = None
    attempt: int = 0
    pause: float = FIRST_PAUSE
    due: float = 0.0
    since: float = 0.0  # when this start, or its readiness, began


class Fleet:
    """Owns its processes. All calls come from one thread, which lives as long as they shall.

    Call `tend()` a few times a second; call `stop()` at the end, whatever happened.
    """

    def __init__(
        self,
        roles: Sequence[Role],
        logs: Path,
        on_event: Callable[[Event], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = {role.name: _Place(role) for role in roles}
        self._logs, self._on_event, self._clock = logs, on_event, clock

    @property
    def all_ready(self) -> bool:
        return all(place.phase is Phase.READY for place in self._places.values())

    def pid(self, role: str) -> int | None:
        child = self._places[role].child
        return child.pid if child else None

    def tend(self) -> None:
        """Takes every step that is due now. Raises FleetError; the caller then stops the fleet."""
        for place in self._places.values():
            match place.phase:
                case Phase.WAITING:
                    if self._clock() >= place.due and self._may_start(place):
                        self._start(place)
                case Phase.STARTING | Phase.READY:
                    self._look_at(place)
                case Phase.ENDED:
                    pass

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Every process has ended when this returns; idempotent.

        One that others come after (the broker) is asked when those have gone; beside each other, the last comes first.
        """
        deadline = self._clock() + seconds
        waves = self._waves()
        for number, wave in enumerate(waves, 1):
            later = (len(waves) - number) / max(1, len(waves) - 1)
            self._end(wave, deadline - later * LATER_SHARE * seconds)
        for place in self._places.values():
            place.phase = Phase.ENDED

    def _waves(self) -> list[list[_Place]]:
        """Those that run, in the order in which they may end."""
        left = [place for place in reversed(self._places.values()) if place.child is not None]
        waves = []
        while left:
            needed = {name for place in left for name in place.role.after}
            wave = [place for place in left if place.role.name not in needed]
            left = [place for place in left if place.role.name in needed]
            waves.append(wave)
        return waves

    def _may_start(self, place: _Place) -> bool:
        if place.attempt:
            return True  # it has been ready once: it finds its own way, whatever the others do now
        return all(self._places[name].phase is Phase.READY for name in place.role.after if name in self._places)

    def _start(self, place: _Place) -> None:
        place.attempt += 1
        place.since = self._clock()
        self._on_event(Starting(place.role.name, place.attempt))
        place.child = Child(place.role, self._logs)
        place.phase = Phase.STARTING

    def _look_at(self, place: _Place) -> None:
        assert place.child is not None
        code, says = place.child.exit_code(), place.child.ready
        if code is not None:
            self._bury(place, place.child, code)
        elif place.phase is Phase.STARTING and says is not None:
            self._on_event(Ready(place.role.name, says, self._clock() - place.since))
            place.phase, place.since = Phase.READY, self._clock()

    def _bury(self, place: _Place, child: Child, code: int) -> None:
        words, name = child.last_words(), place.role.name
        steady = place.phase is Phase.READY and self._clock() - place.since >= STEADY_SECONDS
        first = place.attempt == 1 and place.phase is Phase.STARTING
        place.child = None
        next_one = next_step(words) or f"read {child.log}"
        if code == NOT_ALLOWED:  # starting it again would be a fight with whoever shut it out
            place.phase = Phase.ENDED
            raise ShutOut(f"the {name} was shut out: {told(words)}", next_one)
        if first:
            place.phase = Phase.ENDED
            raise FleetError(f"the {name} did not start (exit code {code}): {told(words)}", next_one)
        pause = FIRST_PAUSE if steady else place.pause
        place.phase, place.due = Phase.WAITING, self._clock() + pause
        place.pause = min(LONGEST_PAUSE, pause * 2)
        self._on_event(Died(name, code, told(words), pause))

    def _end(self, places: list[_Place], deadline: float) -> None:
        running = [(place, place.child) for place in places if place.child is not None]
        for _, child in running:
            child.ask()
        for place, child in running:
            ended = child.await_end(deadline - self._clock())
            if not ended:
                child.kill()
            place.child, place.phase = None, Phase.ENDED
            self._on_event(Stopped(place.role.name, killed=not ended))


def told(words: str) -> str:
    """What went wrong, out of a process's last words."""
    return words.partition("\nnext: ")[0].removeprefix("error: ")


def next_step(words: str) -> str:
    return words.partition("\nnext: ")[2].partition("\n")[0]
