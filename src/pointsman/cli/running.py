"""Running a fleet in front of a person: start it, tell what happens, end it when asked to."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from pointsman.cli import logbook
from pointsman.cli.terminal import Mark, Terminal
from pointsman.domain.status import Health
from pointsman.domain.verdict import Outcome
from pointsman.fleet.launch import Launch
from pointsman.fleet.supervision import Died, Event, Fleet, Ready, Starting, Stopped
from pointsman.web.mirror import Mirror

TEND_SECONDS = 0.1
GOOD = (Outcome.APPLIED.value, Outcome.UNCHANGED.value)
WHAT = {
    "broker": "Kafka broker",
    "feed": "feed of users and accounts",
    "pipeline": "pipeline (Spark)",
    "tables": "tables (Deephaven)",
    "web": "page",
}


class Running:
    """`run()` returns when it was asked to end and every process has ended, or raises with none left running."""

    def __init__(
        self,
        launch: Launch,
        terminal: Terminal,
        on_ready: Callable[[], None],
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._terminal, self._on_ready, self._on_tick = terminal, on_ready, on_tick
        self._logs = launch.settings.home / "logs"
        self._fleet = Fleet(launch.roles, self._logs, self._tell)
        self._news = News(Mirror(launch.reached), terminal)
        self._asked = threading.Event()
        self._begun = time.monotonic()
        self._under_way: set[str] = set()

    def run(self) -> None:
        def stop(_signal: int, _frame: FrameType | None) -> None:
            self._asked.set()

        self._keep_log()
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(kind, stop)
        try:
            self._start()
            while not self._asked.wait(TEND_SECONDS):
                self._fleet.tend()
                self._news.tell()
                self._on_tick()
        finally:
            self._terminal.busy("ending every process")
            self._fleet.stop()
            self._terminal.busy("")

    def _keep_log(self) -> None:
        """What our own threads log is not for the eyes of whoever watches the terminal."""
        if not logging.getLogger().handlers:
            self._logs.mkdir(parents=True, exist_ok=True)
            logging.basicConfig(filename=self._logs / "up.log", level=logging.INFO, format=logbook.TEXT)

    def _start(self) -> None:
        while not self._fleet.all_ready:
            if self._asked.wait(TEND_SECONDS):
                return
            self._fleet.tend()
            seconds = time.monotonic() - self._begun
            names = ", ".join(WHAT[name] for name in WHAT if name in self._under_way)
            self._terminal.busy(f"{seconds:.0f} s  starting: {names}")
        self._terminal.busy("")
        self._news.begin()
        self._on_ready()

    def _tell(self, event: Event) -> None:
        what = WHAT.get(event.role, event.role)
        match event:
            case Starting(role, attempt):
                self._under_way.add(role)
                if attempt > 1 or not self._terminal.moves:
                    again = "starting again" if attempt > 1 else "starting"
                    self._terminal.line(Mark.NEWS, f"{what}: {again}")
            case Ready(role, says, seconds):
                self._under_way.discard(role)
                self._terminal.line(Mark.DONE, f"{what}: ready after {seconds:.1f} s{_aside(says)}")
            case Died(_, code, words, pause):
                self._terminal.line(
                    Mark.BAD, f"{what}: died ({_ended(code)}), starting again in {pause:.0f} s: {words}"
                )
            case Stopped(_, killed):
                self._terminal.line(Mark.WARN if killed else Mark.DONE, f"{what}: {'killed' if killed else 'ended'}")


class News:
    """What the pipeline reports, as lines: what is live, what a control message came to, what went wrong."""

    def __init__(self, mirror: Mirror, terminal: Terminal, clock: Callable[[], float] = time.time) -> None:
        self._mirror, self._terminal, self._clock = mirror, terminal, clock
        self._since = 0.0
        self._told: set[tuple[int, int]] = set()
        self._state = ""

    def begin(self) -> None:
        self._since = self._clock()
        self._mirror.start()

    def tell(self) -> None:
        status = self._mirror.status
        if status is not None and float(status["at"]) >= self._since:
            self._tell_status(status)
        fresh = {_place(v): v for v in reversed(self._mirror.verdicts) if float(v.get("ts", 0)) >= self._since}
        for place, verdict in fresh.items():
            if place not in self._told:
                good = verdict.get("verdict") in GOOD
                said = f"control message {verdict.get('verdict')}: {verdict.get('reason')}"
                self._terminal.line(Mark.DONE if good else Mark.WARN, said)
        self._told = set(fresh)  # the mirror forgets old ones, and so do we

    def _tell_status(self, status: Mapping[str, Any]) -> None:
        state, progress = str(status.get("state")), str(status.get("progress") or "")
        if state in (Health.STARTING.value, Health.SWITCHING.value):
            self._terminal.busy(f"building: {progress}" if progress else "building a generation")
        else:
            self._terminal.busy("")
        if state == self._state:
            return
        before, self._state = self._state, state
        match state:
            case Health.SERVING.value if before != Health.SWITCHING.value:
                topics = " + ".join(str(v) for k, v in status.items() if k.endswith("Topic"))
                said = f"generation {status.get('generation')} is live: {topics}, joined {status.get('joinType')}"
                self._terminal.line(Mark.DONE, said)
            case Health.FAILED.value:
                self._terminal.line(Mark.BAD, f"nothing is live{_reason(status)}")
            case Health.DEGRADED.value:
                self._terminal.line(Mark.WARN, f"what is live is stopped or behind{_reason(status)}")
            case _:
                pass


def _place(verdict: Mapping[str, Any]) -> tuple[int, int]:
    """Of the control message that it answers."""
    return int(verdict.get("partition", 0)), int(verdict.get("offset", 0))


def _reason(status: Mapping[str, Any]) -> str:
    return f": {status['lastError']}" if status.get("lastError") else ""


def _aside(says: str) -> str:
    return f", {says}" if says else ""


def _ended(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"exit code {code}"
