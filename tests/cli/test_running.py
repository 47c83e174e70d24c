"""What the terminal tells of a running fleet's news: each thing once, and nothing from before."""

from __future__ import annotations

import io
from typing import Any, cast

from rich.console import Console

from pointsman.cli.logbook import Options
from pointsman.cli.running import News
from pointsman.cli.terminal import Terminal
from pointsman.web.mirror import Mirror

NOW = 1000.0


class Told:
    """News on what a mirror would hold, and the lines that came of it."""

    def __init__(self) -> None:
        self.status: dict[str, Any] | None = None
        self.verdicts: list[dict[str, Any]] = []  # newest first, like the mirror's
        self._out = io.StringIO()
        terminal = Terminal(Options(), Console(file=self._out, soft_wrap=True))
        self._news = News(cast(Mirror, self), terminal, clock=lambda: NOW)
        self._news.begin()

    def start(self) -> None:
        """A mirror is started when the news begin."""

    def say(self, state: str, **more: Any) -> list[str]:
        """The lines that this status brings."""
        topics = {"usersTopic": "users", "accountsTopic": "accounts", "joinType": "left", "generation": 1}
        self.status = {**topics, "state": state, "lastError": "", "at": NOW, **more}
        return self.lines()

    def lines(self) -> list[str]:
        before = len(self._out.getvalue())
        self._news.tell()
        return self._out.getvalue()[before:].splitlines()


def verdict(offset: int, what: str, at: float = NOW) -> dict[str, Any]:
    return {"partition": 0, "offset": offset, "verdict": what, "reason": f"because of {offset}", "ts": at}


def test_what_is_live_is_told_once() -> None:
    told = Told()
    assert told.say("STARTING") == []
    assert told.say("SERVING") == ["ok generation 1 is live: users + accounts, joined left"]
    assert told.say("SERVING") == []
    assert told.say("SWITCHING") == []
    assert told.say("SERVING", generation=2) == [], "the verdict tells of a switch"


def test_trouble_is_told_with_its_reason() -> None:
    told = Told()
    assert told.say("FAILED", lastError="topic 'users' does not exist") == [
        "!! nothing is live: topic 'users' does not exist"
    ]
    assert told.say("DEGRADED") == ["!! what is live is stopped or behind"]


def test_a_status_from_before_the_start_is_no_news() -> None:
    assert Told().say("SERVING", at=NOW - 1) == []


def test_each_verdict_is_told_once_in_order_and_old_ones_are_not() -> None:
    told = Told()
    told.verdicts = [verdict(2, "refused"), verdict(1, "applied"), verdict(0, "applied", at=NOW - 1)]
    assert told.lines() == [
        "ok control message applied: because of 1",
        "!! control message refused: because of 2",
    ]
    told.verdicts.insert(0, verdict(3, "unchanged"))
    assert told.lines() == ["ok control message unchanged: because of 3"]
