"""Tokens that expire again and again, and a provider that is down for longer than one lives: nothing is lost.

In CI with tokens of seconds; `make test-tokens` runs the same with tokens of half a minute, for five minutes.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from pointsman.broker.newest import newest
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.errors import BrokerError
from pointsman.domain.status import KEY as STATUS_KEY
from tests.pipeline.feed import random_feed
from tests.pipeline.oracle import final_rows
from tests.secured.broker import LEAVER, SecuredBroker, settings_for
from tests.secured.line import VIEWER_KEY, SecuredLine
from tests.secured.test_line import expected, live, shown
from tests.tables.stage import TablesProcess, becomes, eventually, viewer

pytestmark = pytest.mark.broker
Unique = Callable[[str], str]
PACE_SECONDS = 0.25  # between two handfuls of records
CLIENTS = 5  # of the two processes there are more, each with tokens of its own
MOST_SILENCE = 90.0


@dataclass(frozen=True)
class Figures:
    """In seconds."""

    token: float  # lives for so long
    writing: float  # goes on for so long
    down_after: float  # of that, and then for `down`
    down: float

    def __post_init__(self) -> None:
        assert self.down > self.token, "else the tokens that are there would do"


FULL = os.environ.get("TOKENS") == "full"
FIGURES = Figures(token=30, writing=300, down_after=120, down=60) if FULL else Figures(14, 65, 20, 30)
EVERYTHING, SOURCES = ("oauth", "oauth", "oauth"), ("oauth", "scram", "scram")


@pytest.fixture
def brief(secured: SecuredBroker, monkeypatch: pytest.MonkeyPatch) -> SecuredBroker:
    """Its provider gives tokens of seconds, and is up again when the test is over."""
    monkeypatch.setattr(secured.provider, "lifetime", FIGURES.token)
    monkeypatch.setattr(secured.provider, "is_down", False)
    return secured


def no_token(secured: SecuredBroker) -> str:
    return f"{secured.provider.token_endpoint} gives client 'oauth' no token (503 "


def test_a_session_ends_with_its_token_and_a_client_gets_in_again_by_itself(
    brief: SecuredBroker, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the broker ends it is what makes the tests below say anything."""
    monkeypatch.setattr(brief.provider, "lifetime", 4.0)
    admin = TopicAdmin(settings_for(brief.login("oauth"), unique))

    def refused() -> BrokerError | None:
        try:
            admin.existing()
        except BrokerError as error:
            return error
        return None

    assert refused() is None
    brief.provider.is_down = True
    error = eventually(refused, seconds=30)
    assert error is not None
    assert no_token(brief) in str(error)
    assert "have the identity provider looked at" in error.next_step
    brief.provider.is_down = False
    eventually(refused, lambda found: found is None, 40)


def test_a_login_that_is_revoked_is_said_and_gets_in_again_by_itself_when_it_is_given_back(
    secured: SecuredBroker, unique: Unique
) -> None:
    admin = TopicAdmin(settings_for(secured.login(LEAVER), unique))

    def refused() -> str:
        try:
            admin.existing()
        except BrokerError as error:
            return str(error)
        return ""

    assert not refused()
    secured.revoke(LEAVER)
    try:
        said = eventually(refused, seconds=30)
        assert f"does not accept the password of '{LEAVER}' by SCRAM-SHA-256" in said
    finally:
        secured.give_back(LEAVER)
    eventually(refused, lambda found: not found, 40)


class Watch:
    """Writes records without a pause to speak of, and looks at the status meanwhile."""

    def __init__(self, line: SecuredLine, seed: int) -> None:
        self._line, self._seeds = line, itertools.count(seed)
        self._pace = threading.Event()  # never set
        self.states: set[str] = set()

    def status(self) -> dict[str, Any]:
        settings = self._line.everything
        found = newest(settings, self._line.bench.admin, settings.names.status, STATUS_KEY)
        return dict(json.loads(found)) if found else {}

    def write(self, seconds: float) -> None:
        """Notes every state that the status is in."""
        self.states.clear()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._line.bench.send(random_feed(next(self._seeds), 20, partitions=2))
            self.states.add(str(self.status().get("state")))
            self._pace.wait(PACE_SECONDS)


def journal(line: SecuredLine) -> list[dict[str, Any]]:
    return [json.loads(value or b"{}") for *_, value in line.bench.read([line.everything.names.journal])]


def said_down(line: SecuredLine) -> list[str]:
    return [entry["msg"] for entry in journal(line) if entry["code"] == "generation.down"]


@pytest.mark.spark
@pytest.mark.tables
@pytest.mark.timeout(900)
@pytest.mark.parametrize("line", [EVERYTHING, SOURCES] if FULL else [EVERYTHING], indirect=True, ids="-".join)
def test_while_tokens_expire_and_none_are_given_for_a_while_every_row_is_there_in_the_end(
    line: SecuredLine, brief: SecuredBroker
) -> None:
    seed, provider, missing = random.SystemRandom().randrange(2**32), brief.provider, no_token(brief)
    print(f"seed {seed}, {FIGURES}")
    line.feed(seed)
    tables = line.start("tables", line.tables_logins)
    pipeline = line.start("pipeline", line.pipeline_logins)
    generation = live(line, 1)
    tables.await_ready()
    watch = Watch(line, seed)
    eventually(watch.status, lambda status: status.get("state") == "SERVING")

    asked = len(provider.asked)
    watch.write(FIGURES.down_after)
    assert watch.states == {"SERVING"}, "an expiry alone is nobody's trouble"
    asked = len(provider.asked) - asked
    assert asked >= CLIENTS * (FIGURES.down_after // FIGURES.token), "tokens must have been asked for anew"

    provider.is_down = True
    print(f"down from {time.strftime('%T')}")
    watch.write(FIGURES.down)
    states = set(watch.states)
    for process in (pipeline, tables):
        until = time.monotonic() + MOST_SILENCE
        while missing not in process.log:  # how long a token still holds, and a client tries, differs
            assert time.monotonic() < until, "tokens have expired, and the broker has not minded"
            watch.write(1)
            states |= watch.states
        assert "next: have the identity provider looked at" in process.log
    provider.is_down = False
    up = time.monotonic()
    told_elsewhere = line.pipeline_logins["INTERNAL__"] == "oauth"  # our own topics could not be written, either
    assert told_elsewhere or "DEGRADED" in states

    watch.write(FIGURES.writing - FIGURES.down_after - FIGURES.down)
    wanted = final_rows(line.bench.records(), generation.spec)
    eventually(lambda: line.bench.final(generation), lambda found: found == wanted, 120)
    eventually(watch.status, lambda status: status.get("state") == "SERVING")
    print(f"all is there {time.monotonic() - up:.0f} s after the provider is up; {asked} tokens before it was down")
    with viewer(tables.port, VIEWER_KEY) as client:
        final = client.open("final_ui")
        becomes(lambda: shown(final, generation), expected(line, generation), 60)
    assert live(line, 1).number == generation.number
    # Told at the latest when there is somebody to tell; a status that says SERVING may be one from before all this.
    downs = eventually(lambda: said_down(line), seconds=90)
    assert told_elsewhere or any(missing in said for said in downs), downs
    assert_each_row_is_the_row_it_was(line, generation.views.values())
    assert all(lives(process) for process in (pipeline, tables)), "nothing was started anew"


def assert_each_row_is_the_row_it_was(line: SecuredLine, views: Any) -> None:
    """A replay after the outage writes rows again: the same ones, and one for every record."""
    seen: dict[bytes | None, set[bytes | None]] = {}
    for *_, key, value in line.bench.read([*views, line.everything.names.dead_letters]):
        seen.setdefault(key, set()).add(value)
    assert len(seen) == len(line.bench.records())
    assert all(len(values) == 1 for values in seen.values())


def lives(process: TablesProcess) -> bool:
    return process.process.poll() is None
