"""`python -m pointsman.tables.first_tick`: says `ready: N rows` once the joined table has rows and changes.

A process of its own, because its client keeps threads of which whoever starts processes must know nothing.
"""

from __future__ import annotations

import os
import time

from pointsman import settings
from pointsman.domain.errors import TablesError
from pointsman.tables.viewing import Sight, Viewer

LOOK_SECONDS = 0.2
TABLE = "final_ui"


def main() -> None:
    tables = settings.load().tables
    key = tables.key.get_secret_value()
    while True:
        try:
            with Viewer("127.0.0.1", tables.port, key) as viewer:
                print(f"ready: {_ticking(viewer).rows} rows", flush=True)
                os._exit(0)  # nothing is left to be done, and the client's threads may take their time
        except TablesError:
            time.sleep(LOOK_SECONDS)


def _ticking(viewer: Viewer) -> Sight:
    first = viewer.see(TABLE)
    while True:
        time.sleep(LOOK_SECONDS)
        now = viewer.see(TABLE)
        if now.newest is not None and first.newest is not None and now.newest > first.newest:
            return now
        first = first if first.newest is not None else now


if __name__ == "__main__":
    main()
