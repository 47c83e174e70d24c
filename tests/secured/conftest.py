"""One secured broker for all of these tests. Use names of your own (`unique`) on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.secured.broker import SecuredBroker, secured_broker, settings_for
from tests.secured.line import SecuredLine


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture
def line(
    request: pytest.FixtureRequest, secured: SecuredBroker, unique: Callable[[str], str], tmp_path: Path
) -> Iterator[SecuredLine]:
    """The parameter: who reads the sources, who writes our own topics, who reads the control topic."""
    users: tuple[str, str, str] = request.param
    folder = tmp_path / "home"
    folder.mkdir()
    made = SecuredLine(secured, settings_for(secured.login(users[0]), unique), folder, users)
    yield made
    made.close()
