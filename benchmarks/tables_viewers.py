"""Viewers in a real browser, through Deephaven's JS API: what they see, and when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from benchmarks.child import Child
from benchmarks.feed import PROBE

SCRIPT = Path("web/e2e/onlooker.mjs")
START_SECONDS = 120.0


@dataclass(frozen=True)
class Window:
    """A table on a server. Without a key the viewer is anonymous."""

    url: str
    ticket: str
    key: str = ""


class Onlookers:
    """One browser, inside `with`."""

    def __init__(self, folder: Path, window: Window) -> None:
        self._folder = folder
        self._window = window
        self.child = Child(["node", str(SCRIPT)], folder / "onlookers.log")

    def watch(self, interval_ms: int) -> None:
        """One of them looks at every row from now on."""
        self._ask("watching", do="watch", interval=interval_ms, **{"from": PROBE})

    def glance(self, interval_ms: int) -> None:
        """One of them tells from now on which generation it sees."""
        self._ask("glancing", do="glance", interval=interval_ms)

    def await_generation(self, number: int, since: int, seconds: float = 60) -> float:
        """When it was first seen, after the event with number `since`."""
        event = self.child.wait_for(f"generation {number}", lambda e: e.get("number") == number, seconds, since)
        return float(event["at"])

    def seen(self) -> dict[int, float]:
        """Probe number → when the watching one first saw it."""
        path = self._folder / "seen.json"
        self._ask("written", do="seen", to=str(path.absolute()))
        return {int(number): at for number, at in json.loads(path.read_text()).items()}

    def _ask(self, answer: str, **command: object) -> None:
        since = len(self.child.events)
        where = {"url": self._window.url, "ticket": self._window.ticket, "key": self._window.key}
        self.child.ask(**where, **command)
        self.child.wait_for(answer, lambda e: e["event"] == answer, START_SECONDS, since)

    def __enter__(self) -> Onlookers:
        self.child.await_open(START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.close()
