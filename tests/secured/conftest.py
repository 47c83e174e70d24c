"""One secured broker for all of these tests. Use names of your own (`unique`) on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.secured.broker import SecuredBroker, secured_broker


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running
