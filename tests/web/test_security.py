"""What every answer carries, and who is turned away. Needs no broker: the page and the guard stand alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pointsman.web.page import Page
from pointsman.web.security import FAILURE_SECONDS, MOST_ADDRESSES, MOST_FAILURES, Failures, Guard, key_matches

INDEX = '<html><head></head><body><pm-root ngCspNonce="__CSP_NONCE__"></pm-root></body></html>'


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "index.html").write_text(INDEX)
    page = Page('http://tables.example:10000/"><script>', "https://portal.example", tmp_path)

    def echo(_request: Request) -> Response:
        return PlainTextResponse("ok")

    routes = [
        Route("/", page.index),
        Route("/embed/{table}", page.embedded),
        Route("/post", echo, methods=["POST"]),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(Guard, hosts=["127.0.0.1"])])
    return TestClient(app, base_url="http://127.0.0.1:8080")


def test_the_page_allows_no_inline_script_and_no_eval_and_names_the_tables_server(client: TestClient) -> None:
    answer = client.get("/")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["script-src"] == "'self' http://tables.example:10000"
    assert policy["connect-src"] == "'self' http://tables.example:10000 ws://tables.example:10000"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_the_nonce_is_new_in_every_answer(client: TestClient) -> None:
    pattern = re.compile(r'ngCspNonce="([\w-]+)"')
    nonces = [pattern.findall(client.get("/").text)[0] for _ in range(2)]
    assert nonces[0] != nonces[1]
    answer = client.get("/")
    assert f"'nonce-{pattern.findall(answer.text)[0]}'" in answer.headers["content-security-policy"]


def test_a_setting_cannot_become_markup(client: TestClient) -> None:
    assert "<script>" not in client.get("/").text


def test_every_answer_forbids_sniffing_and_storing(client: TestClient) -> None:
    headers = client.get("/").headers
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "127.0.0.1.evil.example"])
def test_an_unknown_host_is_turned_away(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "null"])
def test_a_post_from_another_site_is_turned_away(client: TestClient, origin: str) -> None:
    assert client.post("/post", headers={"Origin": origin}).status_code == 403
    assert client.post("/post", headers={"Origin": "http://127.0.0.1:8080"}).status_code == 200


def test_only_a_single_grid_may_be_framed_and_only_by_those_named(client: TestClient) -> None:
    policy = client.get("/embed/final_ui").headers["content-security-policy"]
    assert "frame-ancestors 'self' https://portal.example" in policy
    assert client.get("/embed/..%2Fx").status_code == 404
    assert client.get("/embed/<x>").status_code == 404


@pytest.mark.parametrize(
    ("header", "key", "same"),
    [
        ("Bearer k", "k", True),
        ("bearer k", "k", True),
        ("Bearer K", "k", False),
        ("Bearer ", "", False),
        (None, "", False),
        ("Bearer ключ", "ключ", True),
        ("k", "k", False),
    ],
)
def test_a_key_matches_itself_and_nothing_else(header: str | None, key: str, same: bool) -> None:
    assert key_matches(header, key) is same


class TestFailures:
    def test_an_address_with_too_many_wrong_keys_waits_and_others_do_not(self) -> None:
        now = 100.0
        failures = Failures(lambda: now)
        for _ in range(MOST_FAILURES):
            assert failures.wait("a") == 0
            failures.add("a")
        assert failures.wait("a") == FAILURE_SECONDS
        assert failures.wait("b") == 0
        now += FAILURE_SECONDS - 1
        assert failures.wait("a") == 1
        now += 1
        assert failures.wait("a") == 0

    def test_a_wrong_key_now_and_then_is_held_against_nobody(self) -> None:
        now = 0.0
        failures = Failures(lambda: now)
        for _ in range(10 * MOST_FAILURES):
            failures.add("a")
            now += FAILURE_SECONDS / MOST_FAILURES + 0.1
            assert failures.wait("a") == 0

    def test_what_is_remembered_is_bounded_and_the_newest_is_kept(self) -> None:
        failures = Failures(lambda: 0.0)
        for number in range(3 * MOST_ADDRESSES):
            failures.add(str(number))
            for _ in range(MOST_FAILURES):
                failures.add("insistent")
        assert len(failures._failed) <= MOST_ADDRESSES
        assert failures.wait("insistent") == FAILURE_SECONDS
