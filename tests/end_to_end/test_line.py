"""The whole line as its users run it: topics → Spark → changelog → live table, and one message that switches it.

Three real processes (the broker, `pointsman pipeline`, `pointsman tables`) and the real command line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydeephaven import Table

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.settings import Settings
from tests.tables.stage import TablesProcess, becomes, eventually, generations, rows, viewer

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables]
POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
T0 = 1_700_000_000_000


class Line:
    """Settings, topics and processes of one test."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.topics = {name: source.topic for name, source in settings.sources.items()}
        self.curated = {name: f"{topic}.curated" for name, topic in self.topics.items()}
        TopicAdmin(settings).ensure([TopicPlan(t, 2) for t in [*self.topics.values(), *self.curated.values()]])
        self.producer = clients.producer(settings.kafka)
        self.variables = {
            "POINTSMAN_SOURCES__USERS__TOPIC": self.topics["users"],
            "POINTSMAN_SOURCES__ACCOUNTS__TOPIC": self.topics["accounts"],
            "POINTSMAN_CUTOVER__LINGER_SECONDS": "120",
            "POINTSMAN_SPARK__DRIVER_MEMORY": "1g",
        }
        self.processes: list[TablesProcess] = []

    def start(self, verb: str) -> TablesProcess:
        process = TablesProcess(self.settings, self.folder, [POINTSMAN, verb], self.variables)
        self.processes.append(process)
        return process

    def send(self, topic: str, **row: Any) -> None:
        self.producer.produce(topic, json.dumps(row), key=str(row["userId"]))
        assert self.producer.flush(30) == 0

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

    def close(self) -> None:
        for process in self.processes:
            process.kill()


@pytest.fixture
def line(live_settings: Settings, tmp_path: Path) -> Iterator[Line]:
    made = Line(live_settings, tmp_path)
    yield made
    made.close()


def joined(final: Table) -> dict[str, Any]:
    """What a viewer sees in final_ui: user → name, balance."""
    return {row["userId"]: (row["name"], row["balance"]) for row in rows(final)}


def test_one_message_switches_the_tables_that_people_keep_open(line: Line) -> None:
    line.send(line.topics["users"], userId="a", name="Ada")
    line.send(line.topics["users"], userId="b", name="Bo")
    line.send(line.topics["accounts"], userId="a", balance=1.5)
    line.send(line.curated["users"], userId="a", name="Ada, curated")
    line.send(line.curated["accounts"], userId="a", balance=100)
    tables, pipeline = line.start("tables"), line.start("pipeline")
    tables.await_ready()
    with viewer(tables.port) as client:
        final = client.open("final_ui")
        status = client.open("orchestrator_status")
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", None)}, 120)

        line.send(line.topics["accounts"], userId="b", balance=7)
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", 7)}, 30)

        curated = ["--users-topic", line.curated["users"], "--accounts-topic", line.curated["accounts"]]
        assert line.command("switch", *curated, "--wait")["verdict"] == "applied"
        becomes(lambda: joined(final), {"a": ("Ada, curated", 100)}, 30)
        assert generations(final) == {2}

        refused = line.command("switch", "--users-topic", line.topics["users"] + "x", "--wait")
        assert refused["verdict"] == "refused"
        assert f"did you mean '{line.topics['users']}'" in refused["reason"]

        assert line.command("rollback", "--wait")["verdict"] == "applied"
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", 7)}, 30)
        assert generations(final) == {1}

        pipeline.signal(signal.SIGKILL)
        pipeline.process.wait(10)
        line.send(line.topics["users"], userId="c", name="Cy, sent while the pipeline was dead")
        line.start("pipeline")
        eventually(lambda: joined(final), lambda found: "c" in found and len(found) == 3, 120)

        assert line.command("switch", "--join", "inner", "--wait")["verdict"] == "applied"
        becomes(lambda: joined(final), {"a": ("Ada", 1.5), "b": ("Bo", 7)}, 30)
        [row] = rows(status)
        assert (row["usersTopic"], row["joinType"]) == (line.topics["users"], "inner")
