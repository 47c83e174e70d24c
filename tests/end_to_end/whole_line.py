"""The whole system as its users run it: broker, pipeline, tables and web, each a process that can be killed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pointsman import settings
from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan
from tests.tables.stage import KEY_OF_VIEWERS
from tests.web import browser, processes
from tests.web.processes import OPERATOR_KEY, Verb, WebProcess

USERS, WITH_ACCOUNT, STRANGERS = 1000, 900, 5


class WholeLine:
    """Users `u0000` … of two worlds, raw and curated, each with a topic of users and one of accounts.

    All have an address at example.org, the first 900 an account; a few strangers have another address and an account,
    so that a filter leaves something out and an inner join as well.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port, tables_port = free_port(), free_port()
        self.settings = settings.load(
            env={}, flags={"home": str(folder), "kafka": {"bootstrap_servers": f"127.0.0.1:{port}"}}
        )
        shared = processes.variables(self.settings, folder)
        # A process that lives for minutes is better off without the second compiler.
        java = {**shared, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
        self.processes: dict[str, Verb] = {}
        self.processes["broker"] = Verb(folder, "broker", "--port", str(port), env=java)
        self.processes["broker"].await_ready()
        self._producer = clients.producer(self.settings.kafka)
        self._fill()
        tables_env = {
            "POINTSMAN_TABLES__PORT": str(tables_port),
            "POINTSMAN_TABLES__KEY": KEY_OF_VIEWERS,
            "POINTSMAN_TABLES__HEAP": "1g",
        }
        pipeline_env = {"POINTSMAN_CUTOVER__LINGER_SECONDS": "600", "POINTSMAN_SPARK__DRIVER_MEMORY": "1g"}
        self.processes["tables"] = Verb(folder, "tables", env={**java, **tables_env})
        self.processes["pipeline"] = Verb(folder, "pipeline", env={**java, **pipeline_env})
        self.web = self.processes["web"] = WebProcess(folder, f"http://127.0.0.1:{tables_port}", shared)
        for name in ("web", "tables", "pipeline"):
            self.processes[name].await_ready()

    def close(self) -> None:
        for process in reversed(self.processes.values()):
            process.kill()

    def browse(self, script: str) -> None:
        """Runs a browser script on it, granting its wishes."""
        variables = {"WEB_URL": self.web.url, "VIEWER_KEY": KEY_OF_VIEWERS, "OPERATOR_KEY": OPERATOR_KEY}
        browser.run(script, self.folder / "browser.log", variables, self._do)

    def _do(self, wish: browser.Wish) -> None:
        match wish["wish"]:
            case "kill":
                self.processes[wish["what"]].kill()
            case "revive":
                self.processes[wish["what"]].revive()
            case "stranger":
                self._write("users", [_user(wish["name"], "raw", "other.net")])
                self._write("accounts", [_account(wish["name"], 1)])
            case unknown:
                raise AssertionError(f"the browser asks for {unknown}")

    def _fill(self) -> None:
        topics = [source.topic for source in self.settings.sources.values()]
        TopicAdmin(self.settings).ensure(TopicPlan(t, 2) for topic in topics for t in (topic, f"{topic}.curated"))
        ids = [f"u{number:04}" for number in range(USERS)]
        strangers = [f"x{number}" for number in range(STRANGERS)]
        for suffix, world in (("", "raw"), (".curated", "curated")):
            people = [_user(i, world, "example.org") for i in ids] + [_user(i, world, "other.net") for i in strangers]
            accounts = [_account(i, number) for number, i in enumerate(ids[:WITH_ACCOUNT])]
            self._write(f"users{suffix}", people)
            self._write(f"accounts{suffix}", accounts + [_account(i, 1) for i in strangers])

    def _write(self, topic: str, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._producer.produce(topic, json.dumps(row), key=row["userId"])
        assert self._producer.flush(60) == 0


def _user(user_id: str, world: str, domain: str) -> dict[str, Any]:
    return {"userId": user_id, "name": f"{world} {user_id}", "email": f"{user_id}@{domain}", "age": 40}


def _account(user_id: str, number: int) -> dict[str, Any]:
    return {"userId": user_id, "accountType": "current", "balance": number + 0.5}
