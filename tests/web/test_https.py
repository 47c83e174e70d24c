"""The page by https."""

from __future__ import annotations

import json
import ssl
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from pointsman.broker.embedded import free_port
from pointsman.settings import Settings
from tests.secured.certificates import Authority
from tests.web.processes import OPERATOR_KEY, Verb, variables

pytestmark = pytest.mark.broker


def test_with_a_certificate_the_page_comes_by_https_and_by_nothing_else(
    live_settings: Settings, tmp_path: Path
) -> None:
    authority, port = Authority(tmp_path / "certificates"), free_port()
    mine = authority.sign("page")
    own = {
        "POINTSMAN_WEB__PORT": str(port),
        "POINTSMAN_WEB__OPERATOR_KEY": OPERATOR_KEY,
        "POINTSMAN_WEB__TLS_CERTIFICATE": str(mine.cert),
        "POINTSMAN_WEB__TLS_KEY": str(mine.key),
    }
    web = Verb(tmp_path, "web", env={**variables(live_settings, tmp_path), **own})
    try:
        assert web.await_ready() == f"ready https://127.0.0.1:{port}"
        trusting = ssl.create_default_context(cafile=str(authority.ca))
        asked = Request(
            f"https://127.0.0.1:{port}/api/plan",
            json.dumps({"joinType": "no such join"}).encode(),
            {
                "Authorization": f"Bearer {OPERATOR_KEY}",
                "Content-Type": "application/json",
                "Origin": f"https://127.0.0.1:{port}",
            },
        )
        with urlopen(asked, timeout=20, context=trusting) as answer:
            assert "no such join" in answer.read().decode()
        with pytest.raises((OSError, HTTPException)):
            urlopen(f"http://127.0.0.1:{port}/livez", timeout=10)
    finally:
        web.kill()
