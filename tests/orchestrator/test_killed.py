"""kill -9 of the real process, on the real broker and Spark, at each turn of a cutover."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from pointsman.broker import clients
from pointsman.broker.embedded import dying_with_us
from pointsman.broker.generation_topics import KafkaGenerationTopics
from pointsman.broker.newest import newest_catalog
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.domain.catalog import Catalog
from pointsman.domain.spec import JoinType
from pointsman.settings import Settings
from tests.java import lend_to
from tests.orchestrator.doomed import CATCHING_UP
from tests.pipeline.conftest import Bench
from tests.pipeline.oracle import final_rows

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(1200)]
ROOT = Path(__file__).parents[2]
MANY = 100_000


class Doomed:
    """The processes of one test, one after the other, on the same broker and folder."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.admin = TopicAdmin(settings)
        self.bench = Bench(settings, self.admin, clients.producer(settings.kafka), cast(Any, None))
        self.curated = settings.sources["users"].topic + ".curated"
        self.admin.ensure([*fixed_topics(settings), TopicPlan(self.curated, 2)])
        self.bench.make_topics(2)
        lend_to(settings.home)
        self._rows = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, moment: str, linger: float = 600) -> None:
        settings = self.settings
        variables = {
            "HOME": str(settings.home),
            "KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
            "TOPICS__PREFIX": settings.topics.prefix,
            "CONTROL__TOPIC": settings.control.topic,
            "SOURCES__USERS__TOPIC": settings.sources["users"].topic,
            "SOURCES__ACCOUNTS__TOPIC": settings.sources["accounts"].topic,
            "CUTOVER__LINGER_SECONDS": str(linger),
            "SPARK__DRIVER_MEMORY": "1g",
        }
        with (settings.home / "pipeline.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.orchestrator.doomed", moment],
                cwd=ROOT,
                env=os.environ | {f"POINTSMAN_{name}": value for name, value in variables.items()},
                stdout=log,
                stderr=log,
                preexec_fn=dying_with_us(),  # noqa: PLW1509 one prctl, no lock is taken
            )

    def dies(self, seconds: float = 240) -> None:
        assert self.process is not None
        assert self.process.wait(seconds) == -signal.SIGKILL, self.log()

    def until(self, condition: Callable[[Catalog], bool], seconds: float = 240) -> Catalog:
        deadline = time.monotonic() + seconds
        while True:
            catalog = newest_catalog(self.settings, self.admin) or Catalog()
            if condition(catalog):
                return catalog
            assert time.monotonic() < deadline, f"{catalog}\n{self.log()}"
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            time.sleep(0.2)

    def feed(self, count: int = 50) -> None:
        """More rows for every topic, old and new keys."""
        for _ in range(count):
            self._rows += 1
            key = f"u{self._rows % 40}"
            for topic, row in (
                (self.settings.sources["users"].topic, {"name": f"raw {self._rows}"}),
                (self.curated, {"name": f"curated {self._rows}"}),
                (self.settings.sources["accounts"].topic, {"balance": self._rows / 4}),
            ):
                self.bench.producer.produce(topic, json.dumps({"userId": key} | row), key=key)
        assert self.bench.producer.flush(30) == 0

    def fill_curated(self, count: int) -> None:
        """So many users that reading them takes a while."""
        for number in range(count):
            row = {"userId": f"u{number % 5000}", "name": f"curated {number}"}
            self.bench.producer.produce(self.curated, json.dumps(row), key=row["userId"])
            if number % 50_000 == 0:  # the client's own queue holds no more than twice that
                self.bench.producer.flush(60)
        assert self.bench.producer.flush(60) == 0

    def log(self) -> str:
        return (self.settings.home / "pipeline.log").read_text(errors="replace")[-6000:]

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)


def test_a_cutover_killed_at_every_turn_ends_with_one_generation_that_is_right_and_nothing_else(
    live_settings: Settings,
) -> None:
    line = Doomed(live_settings)
    try:
        line.feed()
        line.fill_curated(MANY)
        line.start("building")
        line.until(lambda c: c.live == 1)
        line.bench.producer.produce(
            live_settings.control.topic, json.dumps({"usersTopic": line.curated, "joinType": "inner", "requestId": "r"})
        )
        line.bench.producer.flush(30)
        line.dies()
        for moment in (CATCHING_UP, "ready", "published"):
            line.feed()
            line.start(moment)
            line.dies()
        line.feed()
        line.start("freeing", linger=1)
        line.dies()
        line.feed()
        line.start("never", linger=1)
        catalog = line.until(lambda c: set(c.generations) == {2})

        live = catalog.live_generation
        assert live is not None
        assert (live.spec.left.topic, live.spec.join) == (line.curated, JoinType.INNER)
        records = [r for s in live.spec.sources for r in line.bench._records_of(s.name, s.topic)]
        wanted = final_rows(records, live.spec)
        deadline = time.monotonic() + 120
        while line.bench.final(live) != wanted:
            assert time.monotonic() < deadline, line.log()
            time.sleep(0.5)
        assert KafkaGenerationTopics(live_settings, line.admin).numbers() == {2}
        assert [f.name for f in Path(live_settings.checkpoints).iterdir()] == [Path(live.checkpoint).name]
        [verdict] = verdicts(line)
        assert (verdict["verdict"], verdict["generation"], verdict["requestId"]) == ("applied", 2, "r")

        assert line.process is not None
        line.process.terminate()
        assert line.process.wait(60) == 0, line.log()
    finally:
        line.close()


def verdicts(line: Doomed) -> list[dict[str, Any]]:
    topic = line.settings.names.verdicts
    with Tail(line.settings.kafka, line.admin.start_offsets([topic])) as tail:
        return [json.loads(value or b"{}") for *_, value in tail.until(line.admin.end_offsets([topic]))]
