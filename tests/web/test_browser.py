"""The page in a real browser, on a real broker, a real tables server and a real web server."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.settings import Settings
from pointsman.web.page import FOLDER
from tests.web.browser_stage import BrowserStage

pytestmark = [pytest.mark.broker, pytest.mark.tables, pytest.mark.browser]


def test_the_page_keeps_its_promises_in_a_browser(live_settings: Settings, tmp_path: Path) -> None:
    """Rows, order, hostile text, 30 switches, the points, accessibility, healing: `web/e2e/page.mjs` has the claims."""
    assert (FOLDER / "index.html").is_file(), "the page is not built: make page"
    stage = BrowserStage(live_settings, tmp_path)
    try:
        stage.run("page.mjs")
    finally:
        stage.close()
