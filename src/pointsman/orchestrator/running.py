"""Ticking until asked to stop, through a broker's bad moments."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pointsman.domain.errors import CatalogError, PointsmanError
from pointsman.orchestrator.loop import Orchestrator

log = logging.getLogger(__name__)
PAUSE_SECONDS = 0.05
TROUBLE_SECONDS = 1.0


def run(
    orchestrator: Orchestrator,
    asked: threading.Event,
    clock: Callable[[], float] = time.time,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Starts, calls `on_ready` when it has taken over, ticks until `asked` is set; then no query runs any more.

    A tick that meets a passing error is tried again: all it had done is in the catalog, and what is not is done
    again. FencedOut, or a catalog that cannot be read, is not passing, and is raised.
    """
    try:
        orchestrator.start(clock())
        on_ready()
        while not asked.wait(PAUSE_SECONDS):
            try:
                orchestrator.tick(clock())
            except CatalogError:
                raise
            except PointsmanError as error:
                log.warning("%s; trying again; next: %s", error, error.next_step)
                asked.wait(TROUBLE_SECONDS)
    finally:
        orchestrator.shut_down(clock())
