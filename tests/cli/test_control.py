"""The verbs that set the points, on a real broker and a real orchestrator; only the queries are in memory."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from pointsman.broker.feeds import KafkaControlFeed, KafkaTablesServers
from pointsman.broker.generation_topics import KafkaGenerationTopics
from pointsman.broker.source_check import KafkaSourceCheck
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.cli import app
from pointsman.domain.control import Rules
from pointsman.domain.cutover import Limits
from pointsman.domain.errors import NotInTime, PipelineError
from pointsman.domain.generation import Generation
from pointsman.memory import MemoryEngine, World
from pointsman.orchestrator import Orchestrator, run
from pointsman.settings import Settings

pytestmark = pytest.mark.broker


class QuickEngine(MemoryEngine):
    """Everything is caught up as soon as it starts."""

    def start(self, generation: Generation) -> None:
        super().start(generation)
        self.catch_up(generation.number)


@pytest.fixture
def here(live_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The command line, run here, finds this test's settings in the environment."""
    monkeypatch.chdir(live_settings.home)
    for name, value in {
        "KAFKA__BOOTSTRAP_SERVERS": live_settings.kafka.bootstrap_servers,
        "TOPICS__PREFIX": live_settings.topics.prefix,
        "CONTROL__TOPIC": live_settings.control.topic,
        "SOURCES__USERS__TOPIC": live_settings.sources["users"].topic,
        "SOURCES__ACCOUNTS__TOPIC": live_settings.sources["accounts"].topic,
    }.items():
        monkeypatch.setenv(f"POINTSMAN_{name}", value)
    return live_settings


@pytest.fixture
def pipeline(here: Settings) -> Iterator[Orchestrator]:
    admin = TopicAdmin(here)
    admin.ensure([*fixed_topics(here), *(TopicPlan(s.topic) for s in here.spec().sources), TopicPlan(other(here))])
    world = World()
    feed, tables = KafkaControlFeed(here, admin), KafkaTablesServers(here)
    ports = replace(
        world.process(),
        engine=QuickEngine(world),
        topics=KafkaGenerationTopics(here, admin),
        sources=KafkaSourceCheck(here, admin),
        store=KafkaCatalogStore(here),
        feed=feed,
        tables=tables,
    )
    orchestrator = Orchestrator(
        ports,
        settings=here.spec(),
        rules=Rules(tuple(here.sources), here.topics.prefix),
        names=here.names,
        limits=Limits(),
    )
    asked = threading.Event()
    thread = threading.Thread(target=run, args=(orchestrator, asked))
    thread.start()
    deadline = time.monotonic() + 30
    while orchestrator.catalog.live is None:
        assert time.monotonic() < deadline, "nothing went live"
        time.sleep(0.02)
    yield orchestrator
    asked.set()
    thread.join(30)
    feed.close()
    tables.close()


def other(settings: Settings) -> str:
    return settings.sources["users"].topic + ".curated"


def pointsman(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_switch_plan_status_rollback_and_logs_tell_one_story(here: Settings, pipeline: Orchestrator) -> None:
    planned = pointsman("plan", "--users-topic", other(here))
    assert planned.exit_code == 0
    assert f"users: '{other(here)}' can be read" in planned.output
    assert "publish generation 2 in one write; generation 1 lingers" in planned.output

    switched = pointsman("switch", "--users-topic", other(here), "--join", "inner_join", "--wait", "--json")
    assert switched.exit_code == 0, switched.output
    assert json.loads(switched.output)["verdict"] == "applied"

    again = pointsman("switch", "--topic", f"users={other(here)}", "--wait")
    assert again.exit_code == 0
    assert again.output.startswith("unchanged after ")

    shown = json.loads(pointsman("status", "--json").output)
    assert (shown["usersTopic"], shown["joinType"], shown["generation"]) == (other(here), "inner", 2)
    assert [(g["number"], g["state"]) for g in shown["generations"]] == [(1, "LINGERING"), (2, "LIVE")]

    back = pointsman("rollback", "--wait")
    assert back.exit_code == 0
    assert "generation 1 is live" in back.output
    assert "LIVE       left" in pointsman("status").output

    journal = pointsman("logs").output
    assert (
        journal.index("[generation.building]") < journal.index("[generation.published]") < journal.index("live again")
    )
    assert len(pointsman("logs", "-n", "3", "--json").output.splitlines()) == 3


def test_a_refused_switch_and_a_refused_plan_say_why_and_exit_with_1(here: Settings, pipeline: Orchestrator) -> None:
    missing = here.sources["users"].topic[:-1]
    for verb in (["plan"], ["switch", "--wait"]):
        refused = pointsman(*verb, "--users-topic", missing)
        assert refused.exit_code == 1
        assert f"topic '{missing}' does not exist; did you mean" in refused.output
    assert pipeline.catalog.live == 1


def test_switch_without_wait_says_where_to_look(here: Settings, pipeline: Orchestrator) -> None:
    sent = pointsman("switch", "--join", "left")
    assert sent.exit_code == 0
    assert "pointsman status" in sent.output


def test_without_a_pipeline_nobody_answers_and_that_is_said(here: Settings) -> None:
    waited = pointsman("switch", "--join", "inner", "--wait", "--timeout", "0.5")
    assert isinstance(waited.exception, NotInTime)
    assert waited.exception.exit_code == 3
    assert "no pipeline has run here" in str(waited.exception)
    assert isinstance(pointsman("status").exception, PipelineError)


def test_what_cannot_be_meant_is_told_before_anything_is_sent(here: Settings) -> None:
    nothing = pointsman("switch")
    assert nothing.exit_code == 2
    assert "--users-topic" in nothing.output
    assert "there are users, accounts" in pointsman("switch", "--topic", "cards=x").output
    assert "SOURCE=TOPIC" in pointsman("switch", "--topic", "cards").output
