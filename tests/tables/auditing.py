"""A tables server with an auditor of its own tables: one line of JSON per update cycle that changed one of them.

Each line says how many rows of `final_ui` changed (`changed`), which of them went back (`back`: their `age` or
`balance`, which whoever feeds this only ever lets grow, became smaller or null), and which ages of `users_ui` and
balances of `accounts_ui` came a second time (`twice`). `python auditing.py FILE`.
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

GROWING = ("age", "balance")


class Auditor:
    def __init__(self, heard: Any) -> None:
        self._heard = heard
        self._had: dict[str, set[float]] = {name: set() for name in GROWING}

    def on_final(self, update: Any, _is_replay: bool) -> None:
        columns = ["userId", *GROWING]
        now, before = update.modified(columns), update.modified_prev(columns)
        back = [
            [user, name, float(was), float(is_)]
            for name in GROWING
            if now
            for user, was, is_ in zip(now["userId"], before[name], now[name], strict=True)
            if is_ < was  # null is the smallest number there is
        ]
        gone = update.removed("userId")
        back += [[user, "removed", 0, 0] for user in (gone["userId"] if gone else [])]
        self._say(changed=len(now["userId"]) if now else 0, back=back, twice=[])

    def on_view(self, name: str, update: Any) -> None:
        added = update.added(name)
        twice = []
        for value in added[name] if added else []:
            if value in self._had[name]:
                twice.append([name, float(value)])
            self._had[name].add(value)
        self._say(changed=0, back=[], twice=twice)

    def _say(self, **what: Any) -> None:
        self._heard.write(json.dumps(what) + "\n")


def main() -> None:
    server = TablesServer(settings.load())
    server.start()
    from deephaven.table import Table
    from deephaven.table_listener import listen

    assert Application.instance is not None
    state = Application.instance.state
    final, users, accounts = (Table(state.getField(n).value()) for n in ("final_ui", "users_ui", "accounts_ui"))
    with Path(sys.argv[1]).open("w", buffering=1) as heard:
        auditor = Auditor(heard)
        listening = [
            listen(final, auditor.on_final),
            listen(users, lambda update, _: auditor.on_view("age", update)),
            listen(accounts, lambda update, _: auditor.on_view("balance", update)),
        ]
        asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: asked.set())
        print(f"ready {server.url}", flush=True)
        asked.wait()
        for each in listening:
            each.stop()
        server.stop()


if __name__ == "__main__":
    main()
