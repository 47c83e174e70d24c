"""One tables server for the tests that only look; those that kill theirs start their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pointsman import settings
from pointsman.settings import Settings

from .stage import Pipeline, TablesProcess, Viewer


@dataclass(frozen=True)
class Running:
    pipeline: Pipeline
    server: TablesProcess
    viewer: Viewer


@pytest.fixture(scope="session")
def tables_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared, so that our Java classes are compiled once."""
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="session")
def settings_of(broker: str) -> Callable[[str], Settings]:
    def make(name: str) -> Settings:
        return settings.load(
            env={},
            flags={
                "kafka": {"bootstrap_servers": broker},
                "topics": {"prefix": f"tables.{name}."},
                "control": {"topic": f"tables-control-{name}"},
            },
        )

    return make


@pytest.fixture(scope="session")
def running(settings_of: Callable[[str], Settings], tables_home: Path) -> Iterator[Running]:
    """A pipeline's topics, a server on them, and a viewer. Tests share it: use generation numbers of your own."""
    chosen = settings_of("shared")
    pipeline = Pipeline(chosen)
    server = TablesProcess(chosen, tables_home)
    try:
        server.await_ready()
        viewer = Viewer(server.port)
        yield Running(pipeline, server, viewer)
        viewer.close()
    finally:
        server.kill()
