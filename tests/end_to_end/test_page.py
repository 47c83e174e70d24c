"""The page on the real thing: a browser, and behind it four processes, three of which are killed under its eyes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.web.page import FOLDER
from tests.end_to_end.whole_line import WholeLine

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables, pytest.mark.browser]


@pytest.fixture
def line(tmp_path: Path) -> Iterator[WholeLine]:
    assert (FOLDER / "index.html").is_file(), "the page is not built: make page"
    made = WholeLine(tmp_path)
    yield made
    made.close()


def test_one_open_page_sets_the_points_and_outlives_thirty_switches_and_every_server(line: WholeLine) -> None:
    """`web/e2e/whole-line.mjs` has the claims, one line each."""
    line.browse("whole-line.mjs")
    assert {name: p.process.poll() for name, p in line.processes.items()} == dict.fromkeys(line.processes)
