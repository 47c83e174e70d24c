"""A real pipeline process that kills itself, like kill -9, right after its catalog first says a certain thing."""

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

MOMENTS: dict[str, Callable[[Catalog], bool]] = {
    "building": lambda c: c.live == 1 and bool(c.in_state(State.BUILDING)),
    "ready": lambda c: c.live == 1 and bool(c.in_state(State.READY)),
    "published": lambda c: c.live == 2,
    "freeing": lambda c: bool(c.in_state(State.FREEING)),
    "never": lambda _: False,
}


def main(moment: str) -> None:
    commit = KafkaCatalogStore.commit

    def last_commit(self: KafkaCatalogStore, catalog: Catalog, *rest: Sequence[Any]) -> None:
        commit(self, catalog, *rest)
        if MOMENTS[moment](catalog):
            os.kill(os.getpid(), signal.SIGKILL)

    KafkaCatalogStore.commit = last_commit  # type: ignore[method-assign, assignment]
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    run_pipeline(settings.load(), asked, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(sys.argv[1])
