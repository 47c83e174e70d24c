"""A tables server with an ear on its own data tables: one line of JSON per update cycle that changed any of them.

Each line says, per table, which generations the rows that were added and removed belong to. `python listening.py FILE`.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from pointsman import settings
from pointsman.tables.application import Application
from pointsman.tables.server import TablesServer


def main() -> None:
    server = TablesServer(settings.load())
    server.start()
    from deephaven.table import Table
    from deephaven.table_listener import TableUpdate, merged_listen

    assert Application.instance is not None
    state = Application.instance.state
    names = ["users_ui", "accounts_ui", "final_ui"]
    tables = [Table(state.getField(name).value()) for name in names]
    name_of = dict(zip(map(id, tables), names, strict=True))
    with Path(sys.argv[1]).open("w", buffering=1) as heard:

        def generations(found: dict[str, Any]) -> list[int]:
            return sorted(set(found["generation"].tolist())) if found else []

        def on_update(updates: dict[Table, TableUpdate | None], _is_replay: bool) -> None:
            line = {
                name_of[id(table)]: {
                    "added": generations(update.added("generation")),
                    "removed": generations(update.removed("generation")),
                }
                for table, update in updates.items()
                if update is not None
            }
            heard.write(json.dumps(line) + "\n")

        listening = merged_listen(tables, on_update)
        asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: asked.set())
        print(f"ready {server.url}", flush=True)
        asked.wait()
        listening.stop()
        server.stop()


if __name__ == "__main__":
    main()
