"""What every checkpoint begins with, played through beforehand: Spark plans quicker what it has planned a few times.

The join stands still while the next batch is planned: 1.5 s in a machine that has just started, 0.3 s from the sixth
time on. The half minute after the start, when all of it is still slow, is the time for that.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from pointsman.pipeline.queries import Queries

ROUNDS, PAUSE_SECONDS = 10, 2.0


class Rehearsal:
    """Once for a session, in a thread of its own: later generations find warm what the first has warmed."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, queries: Queries, is_ready: Callable[[], bool]) -> None:
        """As soon as the queries are at work. A second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._play, args=(queries, is_ready), name="rehearsal", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _play(self, queries: Queries, is_ready: Callable[[], bool]) -> None:
        rounds = 0
        while rounds < ROUNDS and not self._over.wait(PAUSE_SECONDS):
            if is_ready():
                rounds += 1
                with contextlib.suppress(Exception):  # a session that ends meanwhile
                    queries.plan_again()
