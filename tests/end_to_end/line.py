"""The whole line as its users run it: `pointsman pipeline`, `pointsman tables` and the command line, on real topics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.settings import Settings
from tests.tables import auditing
from tests.tables.stage import TablesProcess

POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
GOOD = ("applied", "unchanged")


class Line:
    """A pipeline and a tables server that audits itself, from the start on; `close` ends them."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.topics = {name: source.topic for name, source in settings.sources.items()}
        self.curated, self.busy = self.pair("curated"), self.pair("busy")
        pairs = (self.topics, self.curated, self.busy)
        TopicAdmin(settings).ensure([TopicPlan(topic, 2) for pair in pairs for topic in pair.values()])
        self.producer = clients.producer(settings.kafka)
        self.variables = {
            "POINTSMAN_SOURCES__USERS__TOPIC": self.topics["users"],
            "POINTSMAN_SOURCES__ACCOUNTS__TOPIC": self.topics["accounts"],
            "POINTSMAN_CUTOVER__LINGER_SECONDS": "120",
            "POINTSMAN_CUTOVER__MAX_LINGERING": "1",
            "POINTSMAN_SPARK__DRIVER_MEMORY": "1g",
        }
        self.heard = folder / "heard"
        script = [sys.executable, str(Path(auditing.__file__)), str(self.heard)]
        self.tables = TablesProcess(settings, folder, script, self.variables)
        self.pipeline = self._pipeline()

    def pair(self, name: str) -> dict[str, str]:
        return {source: f"{topic}.{name}" for source, topic in self.topics.items()}

    def kill_pipeline(self) -> None:
        self.pipeline.kill()

    def revive_pipeline(self) -> None:
        """It has taken over when this returns."""
        self.pipeline = self._pipeline()
        assert self.pipeline.process.stdout is not None
        assert self.pipeline.process.stdout.readline().startswith(b"ready"), self.pipeline.log

    def send(self, topic: str, **row: Any) -> None:
        self.producer.produce(topic, json.dumps(row), key=str(row["userId"]))
        assert self.producer.flush(30) == 0

    def switch(self, pair: dict[str, str], join: str = "left") -> None:
        """These topics and this join are live when it returns."""
        words = ["--users-topic", pair["users"], "--accounts-topic", pair["accounts"], "--join", join]
        verdict = self.command("switch", *words, "--wait")
        assert verdict["verdict"] in GOOD, verdict

    def command(self, *words: str) -> dict[str, Any]:
        """Runs `pointsman …` as a person would, and reads its JSON."""
        env = {
            **os.environ,
            **self.variables,
            "POINTSMAN_HOME": str(self.folder),
            "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": self.settings.kafka.bootstrap_servers,
            "POINTSMAN_TOPICS__PREFIX": self.settings.topics.prefix,
            "POINTSMAN_CONTROL__TOPIC": self.settings.control.topic,
        }
        done = subprocess.run(
            [POINTSMAN, *words, "--json"], env=env, capture_output=True, text=True, timeout=180, check=False
        )
        assert done.stdout, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def cycles(self) -> list[dict[str, Any]]:
        """What the auditor has told until now, of every update cycle."""
        return [json.loads(told) for told in self.heard.read_text().splitlines()]

    def close(self) -> None:
        self.pipeline.kill()
        self.tables.kill()

    def _pipeline(self) -> TablesProcess:
        return TablesProcess(self.settings, self.folder, [POINTSMAN, "pipeline"], self.variables)
