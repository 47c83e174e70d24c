"""A real pipeline process that kills itself, like kill -9, right after its catalog first says a certain thing, or in
the middle of a catch-up."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pointsman import settings
from pointsman.app import run_pipeline
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import State
from pointsman.domain.progress import Phase, Progress
from pointsman.pipeline.engine import SparkEngine

MOMENTS: dict[str, Callable[[Catalog], bool]] = {
    "building": lambda c: c.live == 1 and bool(c.in_state(State.BUILDING)),
    "ready": lambda c: c.live == 1 and bool(c.in_state(State.READY)),
    "published": lambda c: c.live == 2,
    "freeing": lambda c: bool(c.in_state(State.FREEING)),
    "never": lambda _: False,
}
CATCHING_UP = "catching up"  # not a thing that the catalog says: some of the rows are in the new changelogs, not all


def main(moment: str) -> None:
    commit, progress = KafkaCatalogStore.commit, SparkEngine.progress

    def last_commit(self: KafkaCatalogStore, catalog: Catalog, *rest: Sequence[Any]) -> None:
        commit(self, catalog, *rest)
        if MOMENTS[moment](catalog):
            os.kill(os.getpid(), signal.SIGKILL)

    def last_progress(self: SparkEngine, number: int) -> Progress:
        found = progress(self, number)
        if number == 2 and found.phase is Phase.CATCHING_UP and 0 < found.done < found.total:
            print(f"killed after {found.done} of {found.total} records", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    if moment == CATCHING_UP:
        SparkEngine.progress = last_progress  # type: ignore[method-assign]
    else:
        KafkaCatalogStore.commit = last_commit  # type: ignore[method-assign, assignment]
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    run_pipeline(settings.load(), asked, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(sys.argv[1])
