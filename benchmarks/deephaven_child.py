"""The join as a Deephaven user writes it today, in a process of its own: append consumers, last_by, natural_join.

Says `open` when the tables are there, `rows` with the users topic and the number of records read whenever a cycle has
updated the join, and, asked {"do": "seen", "to": PATH}, writes when each probe record was first in the joined table.
Asked {"do": "join", "users": TOPIC, "accounts": TOPIC}, it reads and joins those from their beginning instead.
Viewers find the joined table as the variable `joined`; with the option `"watch": false` they are all that looks at it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.feed import PROBE


def say(event: str, **what: Any) -> None:
    print(json.dumps({"event": event, "at": time.time(), **what}), flush=True)


def start(port: int, cycle_ms: int, heap: str) -> None:
    from deephaven_server import Server

    args = [
        f"-Xmx{heap}",
        f"-DPeriodicUpdateGraph.targetCycleDurationMillis={cycle_ms}",
        "-Dauthentication.anonymous.warn=false",
        "-DAuthHandlers=io.deephaven.auth.AnonymousAuthenticationHandler",
    ]
    Server(host="127.0.0.1", port=port, jvm_args=args).start()


def join(broker: str, users_topic: str, accounts_topic: str) -> tuple[Any, Any, Any]:
    """Both consumed tables, and the joined one."""
    from deephaven import dtypes as dht
    from deephaven.stream.kafka import consumer as kc

    def consume(topic: str, columns: list[tuple[str, Any]]) -> Any:
        return kc.consume(
            {"bootstrap.servers": broker, "auto.offset.reset": "earliest"},
            topic,
            offsets=kc.ALL_PARTITIONS_SEEK_TO_BEGINNING,
            key_spec=kc.KeyValueSpec.IGNORE,
            value_spec=kc.json_spec(columns),
            table_type=kc.TableType.append(),
        )

    users = consume(
        users_topic, [("userId", dht.string), ("name", dht.string), ("email", dht.string), ("age", dht.long)]
    )
    accounts = consume(accounts_topic, [("userId", dht.string), ("accountType", dht.string), ("balance", dht.double)])
    latest = accounts.last_by("userId")
    joined = users.last_by("userId").natural_join(latest, on="userId", joins=["accountType", "balance"])
    return users, accounts, joined


class Watcher:
    """Listens to the joined table. Reads columns only once probes are awaited: a wave must not pay for it."""

    def __init__(self, of: str, users: Any, accounts: Any, joined: Any) -> None:
        from deephaven.table_listener import listen
        from deephaven.update_graph import shared_lock

        self.seen: dict[int, float] = {}
        self.probing = False
        self._of = of
        self._sources = (users, accounts)
        self._handle = listen(joined, self._on_update)
        with shared_lock(joined):  # between two cycles: of rows that came before the listener, no update tells
            self._tell()

    def _tell(self) -> None:
        say("rows", of=self._of, count=sum(table.size for table in self._sources))

    def stop(self) -> None:
        self._handle.stop()

    def _on_update(self, update: Any, is_replay: bool) -> None:
        now = time.time()
        self._tell()
        if not self.probing:
            return
        for part in (update.added(["age", "balance"]), update.modified(["age", "balance"])):
            for column in part.values():
                for value in column:
                    if value >= PROBE:
                        self.seen.setdefault(int(value) - PROBE, now)


def main() -> None:
    options = json.loads(sys.argv[1])
    start(options["port"], options["cycle_ms"], options["heap"])
    tables = join(options["broker"], options["users"], options["accounts"])
    globals()["joined"] = tables[-1]
    if not options.get("watch", True):
        say("open")
        sys.stdin.read()
        return
    watcher = Watcher(options["users"], *tables)
    say("open")
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "probe":
            watcher.probing = True
        elif command["do"] == "join":
            watcher.stop()
            watcher = Watcher(command["users"], *join(options["broker"], command["users"], command["accounts"]))
        elif command["do"] == "seen":
            Path(command["to"]).write_text(json.dumps(watcher.seen))
            say("written", to=command["to"])


if __name__ == "__main__":
    main()
