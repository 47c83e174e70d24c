"""When to act, given when things happened: settling, backing off, not asking twice. All on a clock passed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pointsman.domain.spec import Source


class Settling:
    """Something that stirs is left alone until it has been quiet for a while, or has stirred for too long."""

    def __init__(self, quiet: float, at_most: float) -> None:
        self._quiet, self._at_most = quiet, at_most
        self._first: float | None = None
        self._last = 0.0

    def stir(self, now: float) -> None:
        self._first = now if self._first is None else self._first
        self._last = now

    def rest(self) -> None:
        self._first = None

    def settled(self, now: float) -> bool:
        if self._first is None or now < self._last:  # a clock set back tells nothing: go on
            return True
        return now - self._last >= self._quiet or now - self._first >= self._at_most


class Backoff:
    """Whether to try again: at once at first, then after growing pauses, none longer than a minute."""

    def __init__(self, first: float = 5.0, longest: float = 60.0) -> None:
        self._first, self._longest = first, longest
        self._failures = 0
        self._failed_at = 0.0

    def fail(self, now: float) -> bool:
        """Notes a failure; true if it is the first in a row, the one worth telling."""
        self._failures, self._failed_at = self._failures + 1, now
        return self._failures == 1

    def clear(self) -> None:
        self._failures = 0

    def due(self, now: float) -> bool:
        pause = min(self._longest, self._first * 2 ** min(self._failures - 1, 10))
        return not self._failures or now < self._failed_at or now - self._failed_at >= pause


class Overdue:
    """Whether what is waited for is late: said once, and anew for something else."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._what: object = None
        self._since = 0.0
        self._told = False

    def late(self, what: object, now: float) -> bool:
        if what != self._what or now < self._since:  # a clock set back tells nothing: begin again
            self._what, self._since, self._told = what, now, self._told and what == self._what
        late = not self._told and now - self._since >= self._seconds
        self._told = self._told or late
        return late


class Memo:
    """What was found out about a source a moment ago is not found out again."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[Source, tuple[float, Sequence[str]]] = {}

    def ask(self, source: Source, now: float, check: Callable[[Source], Sequence[str]]) -> Sequence[str]:
        at, problems = self._known.get(source, (None, ()))
        if at is None or not 0 <= now - at < self._seconds:
            problems = tuple(check(source))
            self._known = {s: k for s, k in self._known.items() if 0 <= now - k[0] < self._seconds}
            self._known[source] = (now, problems)
        return problems
