"""The reference of the API names what the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from starlette.routing import Route

from pointsman.settings import load
from pointsman.web.server import WebServer

REFERENCE = (Path(__file__).parents[2] / "docs/reference/web-api.md").read_text()
METRICS = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
DASHBOARD = Path(__file__).parents[2] / "examples/grafana/pointsman.json"
PACKAGE = Path(__file__).parents[2] / "src/pointsman/web"


@pytest.fixture(scope="module")
def routes() -> list[Route]:
    return [route for route in WebServer(load(env={})).app().routes if isinstance(route, Route)]


def test_every_route_is_documented_and_every_documented_one_exists(routes: list[Route]) -> None:
    served = {f"{'POST' if 'POST' in (r.methods or ()) else 'GET'} {r.path}" for r in routes}
    assert set(re.findall(r"^\| `((?:GET|POST) [^`]+)`", REFERENCE, re.MULTILINE)) == served


def test_every_metric_is_documented_and_every_documented_one_exists() -> None:
    code = (PACKAGE / "metrics.py").read_text()
    names = set(re.findall(r'"(pointsman_\w+)"', code))
    rows = re.findall(r"^\| `(pointsman_\w+)", METRICS, re.MULTILINE)
    assert {name.removesuffix("_total") for name in rows} == names


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    code = (PACKAGE / "metrics.py").read_text()
    names = set(re.findall(r'"(pointsman_\w+)"', code))
    asked = set(re.findall(r"\b(pointsman_\w+)", DASHBOARD.read_text()))
    assert asked
    assert {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in asked} <= names
    assert json.loads(DASHBOARD.read_text())["title"] == "Pointsman"
