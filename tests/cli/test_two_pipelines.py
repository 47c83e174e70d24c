"""Two Pointsmen on one prefix: the newer one goes on, and the older one says why it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pointsman.broker.newest import newest_catalog
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.domain.errors import NOT_ALLOWED
from pointsman.settings import Settings
from tests.tables.stage import TablesProcess, eventually

pytestmark = [pytest.mark.broker, pytest.mark.spark]
POINTSMAN = str(Path(sys.executable).with_name("pointsman"))


def start(settings: Settings, folder: Path) -> TablesProcess:
    folder.mkdir(exist_ok=True)
    env = {
        "POINTSMAN_SOURCES__USERS__TOPIC": settings.sources["users"].topic,
        "POINTSMAN_SOURCES__ACCOUNTS__TOPIC": settings.sources["accounts"].topic,
        "POINTSMAN_SPARK__DRIVER_MEMORY": "1g",
    }
    return TablesProcess(settings, folder, [POINTSMAN, "pipeline"], env)


def test_the_first_of_two_pipelines_on_one_prefix_ends_and_says_that_there_is_another(
    live_settings: Settings, tmp_path: Path
) -> None:
    admin = TopicAdmin(live_settings)
    admin.ensure([*fixed_topics(live_settings), *(TopicPlan(s.topic) for s in live_settings.sources.values())])
    first = start(live_settings, tmp_path / "first")
    try:
        assert first.process.stdout is not None
        assert first.process.stdout.readline().startswith(b"ready"), first.log
        eventually(lambda: newest_catalog(live_settings, admin))
        KafkaCatalogStore(live_settings).load()  # how a second one begins, before it starts anything
        assert first.process.wait(60) == NOT_ALLOWED
        assert f"error: another orchestrator has taken over '{live_settings.names.catalog}'" in first.log
        assert "next: this one stops; run one pipeline per topics.prefix" in first.log
        assert "Traceback" not in first.log
    finally:
        first.kill()
