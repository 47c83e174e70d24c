"""The real application on the real broker, called in-process; the topics are written as the pipeline writes them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.settings import Settings, load
from pointsman.web.server import WebServer

KEY = "operator-key-of-this-test"
BEARER = {"Authorization": f"Bearer {KEY}"}


class Stage:
    """A web server with a key, and a hand on the topics that it reads."""

    def __init__(self, settings: Settings, client: TestClient) -> None:
        self.settings, self.client = settings, client
        self._producer = clients.producer(settings.kafka)

    def write(self, topic: str, value: Any, key: str | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._producer.produce(topic, data, key=key)
        assert self._producer.flush(10) == 0

    def status(self, **changes: Any) -> dict[str, Any]:
        """Writes a heartbeat of now, and returns it."""
        status = {"joinType": "left", "state": "SERVING", "generation": 1, "rate": 5.0, "lag": 0, "freshness": 0.1}
        status |= {"at": time.time(), **changes}
        self.write(self.settings.names.status, status, "status")
        return status

    def until(self, path: str, holds: Callable[[dict[str, Any]], bool], seconds: float = 15) -> dict[str, Any]:
        """What `path` answers once it holds."""
        deadline = time.monotonic() + seconds
        while True:
            answer: dict[str, Any] = self.client.get(path).json()
            if holds(answer):
                return answer
            assert time.monotonic() < deadline, f"{path} still says {answer}"
            time.sleep(0.02)


@pytest.fixture
def web_settings(live_settings: Settings, tmp_path: Path) -> Settings:
    plain = live_settings.model_dump(mode="json", exclude={"web", "tables", "home"})
    web = {"operator_key": KEY, "tables_url": "http://127.0.0.1:10123", "control_wait_seconds": 2}
    return load(env={}, flags={**plain, "web": web, "home": str(tmp_path)})


@pytest.fixture
def stage(web_settings: Settings) -> Iterator[Stage]:
    admin = TopicAdmin(web_settings)
    sources = [TopicPlan(source.topic, 2) for source in web_settings.sources.values()]
    admin.ensure([*fixed_topics(web_settings), *sources])
    with TestClient(WebServer(web_settings).app(), base_url="http://127.0.0.1") as client:
        yield Stage(web_settings, client)
