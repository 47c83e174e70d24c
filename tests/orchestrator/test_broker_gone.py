"""`pointsman pipeline` without its broker: it still ends when it is asked to, and goes on at the next start."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from pointsman import settings
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.newest import newest_catalog
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.settings import Settings
from tests.tables.stage import TablesProcess, eventually

pytestmark = [pytest.mark.broker, pytest.mark.spark]
POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
SECONDS = 8.0


def start(here: Settings, folder: Path) -> TablesProcess:
    return TablesProcess(here, folder, [POINTSMAN, "pipeline"], {"POINTSMAN_SPARK__DRIVER_MEMORY": "1g"})


def lives(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def test_a_pipeline_whose_broker_is_gone_ends_within_seconds_of_being_asked(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker", free_port()) as broker:
        flags = {"home": str(tmp_path), "kafka": {"bootstrap_servers": broker.address}}
        here = settings.load(env={}, toml=None, flags=flags)
        admin = TopicAdmin(here)
        admin.ensure([*fixed_topics(here), *(TopicPlan(s.topic) for s in here.sources.values())])
        pipeline = start(here, tmp_path)
        try:
            eventually(lambda: newest_catalog(here, admin), lambda c: c is not None and c.live == 1, 120)
            family = psutil.Process(pipeline.process.pid).children(recursive=True)
            assert family, "Spark's JVM is a child of it"
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGKILL)
            asked = time.monotonic()
            pipeline.signal(signal.SIGTERM)
            assert pipeline.process.wait(60) == 0, pipeline.log
            eventually(lambda: [p for p in family if lives(p)], lambda left: not left)
            took = time.monotonic() - asked
            print(f"ended {took:.1f} s after it was asked to")
            assert took < SECONDS, pipeline.log
        finally:
            pipeline.kill()
