"""What is said of an identity provider that gives no token, and what is not sent where it points to."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pointsman.broker import identity
from pointsman.broker.embedded import free_port
from pointsman.broker.refusals import of_java
from pointsman.pipeline import faults
from pointsman.settings import Connection

GOOD = b'{"access_token": "t", "expires_in": 300}'
DIED = "org.apache.kafka.common.errors.SaslAuthenticationException: invalid_token"


@dataclass
class Provider:
    """Answers as it is told to, and keeps what it was asked."""

    url: str = ""
    status: int = 200
    body: bytes = GOOD
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)  # path, Authorization, body

    def connection(self) -> Connection:
        return connection(self.url)


def connection(url: str) -> Connection:
    oidc = {"token_endpoint": url, "client_id": "me", "client_secret": "s:cret", "scope": "a b"}
    kind = {"mechanism": "OAUTHBEARER"}
    return Connection.model_validate(
        {"bootstrap_servers": "b:1", "security_protocol": "SASL_SSL", "sasl": kind, "oidc": oidc}
    )


@pytest.fixture
def provider() -> Iterator[Provider]:
    told = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told.asked.append((self.path, self.headers.get("authorization", ""), body))
            self.send_response(told.status)
            self.send_header("Location", f"{told.url}/elsewhere")
            self.end_headers()
            self.wfile.write(told.body)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}/token"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield told
    server.shutdown()
    server.server_close()


def test_one_that_gives_a_token_is_no_problem_and_is_asked_as_clients_ask(provider: Provider) -> None:
    assert identity.problem(provider.connection()) is None
    login = base64.b64encode(b"me:s:cret").decode()
    assert provider.asked == [("/token", f"Basic {login}", b"grant_type=client_credentials&scope=a+b")]


@pytest.mark.parametrize(
    ("status", "body", "says", "passes"),
    [
        (401, b"", "401 Unauthorized", False),
        (429, b"", "429 Too Many Requests", True),
        (503, b"", "503 Service Unavailable", True),
        (200, b"<html>", "its answer holds no token", True),
        (200, b"[]", "its answer holds no token", True),
    ],
)
def test_why_there_is_none(provider: Provider, status: int, body: bytes, says: str, passes: bool) -> None:
    provider.status, provider.body = status, body
    assert identity.problem(provider.connection()) == identity.NoToken(says, passes)


def test_our_secret_does_not_follow_to_another_address(provider: Provider) -> None:
    provider.status = 302
    assert identity.problem(provider.connection()) == identity.NoToken("302 Found", False)
    assert [path for path, *_ in provider.asked] == ["/token"]


def test_nobody_there() -> None:
    found = identity.problem(connection(f"http://127.0.0.1:{free_port()}/token"))
    assert found == identity.NoToken("Connection refused", True)


def test_who_uses_no_tokens_asks_nobody() -> None:
    assert identity.problem(Connection()) is None


class TestJava:
    """A Java client says only that it was turned away, or that it could not be made."""

    def test_a_query_that_died_for_want_of_a_token_names_the_provider(self, provider: Provider) -> None:
        provider.status = 503
        said = faults.explained(RuntimeError(DIED), [Connection(), provider.connection()])
        assert f"{provider.url} gives client 'me' no token (503 Service Unavailable); next: have the" in said

    def test_where_there_are_tokens_it_names_the_login_that_is_not_accepted(self, provider: Provider) -> None:
        error = of_java("it died", DIED, [provider.connection(), provider.connection()])
        assert str(error) == "it died: not accepted: the token of client 'me' on b:1"

    def test_of_two_logins_it_cannot_tell_which(self) -> None:
        def login(user: str) -> Connection:
            sasl = {"mechanism": "PLAIN", "user": user, "password": "pw"}
            return Connection.model_validate({"security_protocol": "SASL_SSL", "sasl": sasl})

        said = str(of_java("it died", DIED, [login("a"), login("b")]))
        assert "the password of 'a' by PLAIN on localhost:9092, or the password of 'b' by PLAIN" in said

    def test_without_a_login_its_own_words_stand(self) -> None:
        assert faults.explained(RuntimeError(DIED), [Connection()]) == DIED

    def test_what_has_nothing_to_do_with_it_asks_nobody(self, provider: Provider) -> None:
        provider.status = 503
        assert faults.explained(RuntimeError("a stage failed"), [provider.connection()]) == "a stage failed"
        assert provider.asked == []

    def test_being_turned_away_is_never_beyond_repair(self) -> None:
        assert faults.beyond_repair(RuntimeError("the delta file is malformed"))
        assert not faults.beyond_repair(RuntimeError("LoginException: malformed answer"))
