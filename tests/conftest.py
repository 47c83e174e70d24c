"""What all tests share: one embedded broker per run, and topics that no other test has seen."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman import settings
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.settings import Settings
from tests import java

numbers = itertools.count(1)
os.environ.setdefault("JAVA_TOOL_OPTIONS", java.OPTIONS)
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # else a child may hang before it is what was to be started


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a real Kafka, shared by the whole run. Use names of your own (`unique`) on it."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker"), free_port()) as running:
        yield running.address


@pytest.fixture
def unique() -> Callable[[str], str]:
    """A name that no other test uses."""
    number = next(numbers)
    return lambda name: f"t{number}.{name}"


@pytest.fixture
def live_settings(broker: str, unique: Callable[[str], str], tmp_path: Path) -> Settings:
    """Settings on the shared broker, with a prefix, topics and home of this test's own."""
    return settings.load(
        env={},
        toml=None,
        flags={
            "home": str(tmp_path),
            "kafka": {"bootstrap_servers": broker},
            "topics": {"prefix": unique("pm.")},
            "control": {"topic": unique("control")},
            "sources": {"users": {"topic": unique("users")}, "accounts": {"topic": unique("accounts")}},
        },
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last what is held against the clock as a whole: nothing else runs beside it by then."""
    items.sort(key=lambda item: "/end_to_end/" in item.nodeid)
