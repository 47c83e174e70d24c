"""The demo's bank: lifelike, the same every time, and told apart from its curated twin at a glance."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from pointsman import settings
from pointsman.demo.bank import ACCOUNTS, CURATED, KINDS, TOPICS, USERS, Bank, Record
from pointsman.domain.record import problem

HAPPENINGS = 5_000


@pytest.fixture
def bank() -> Bank:
    return Bank(Random(7), 300)


def story(bank: Bank) -> list[Record]:
    return [record for _ in range(HAPPENINGS) for record in bank.happening()]


def row(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.value or b"{}")
    return found


def latest(records: list[Record], topic: str) -> dict[str, dict[str, Any]]:
    held: dict[str, dict[str, Any]] = {}
    for record in records:
        if record.topic == topic and record.value is None:
            held.pop(record.key, None)
        elif record.topic == topic:
            held[record.key] = row(record)
    return held


def test_every_record_is_what_the_built_in_sources_expect(bank: Bank) -> None:
    sources = {s.topic: s for s in settings.load(env={}, flags={}).spec().sources}
    sources |= {CURATED[topic]: source for topic, source in list(sources.items())}
    told = [*bank.everyone(), *story(bank)]
    assert {record.topic for record in told} == set(TOPICS)
    assert [r for r in told if problem(r.value, sources[r.topic])] == []


def test_the_same_seed_tells_the_same_story() -> None:
    one, other = Bank(Random(3), 50), Bank(Random(3), 50)
    assert [*one.everyone(), *story(one)] == [*other.everyone(), *story(other)]


def test_some_users_have_no_account_so_that_left_and_inner_differ(bank: Bank) -> None:
    told = list(bank.everyone())
    users, accounts = latest(told, USERS), latest(told, ACCOUNTS)
    assert set(accounts) < set(users)
    assert 30 < len(users) - len(accounts) < 100


def test_curated_rows_differ_from_raw_ones_in_what_is_seen_first(bank: Bank) -> None:
    told = list(bank.everyone())
    raw, curated = latest(told, USERS), latest(told, CURATED[USERS])
    assert set(curated) < set(raw)
    assert all(curated[key]["name"] != raw[key]["name"] for key in curated)
    kinds = {account["accountType"] for account in latest(told, CURATED[ACCOUNTS]).values()}
    assert kinds == set(KINDS.values())
    assert kinds.isdisjoint(account["accountType"] for account in latest(told, ACCOUNTS).values())


def test_the_bank_neither_grows_nor_empties_and_everyone_is_heard_of_again(bank: Bank) -> None:
    told = story(bank)
    assert 260 <= len(bank.customers) <= 340
    heard = Counter(record.key for record in told)
    assert all(heard[customer.id] for customer in bank.customers)
    assert any(record.value is None for record in told)


def test_nonsense_is_refused_or_has_no_key_and_every_kind_comes(bank: Bank) -> None:
    sources = {s.topic: s for s in settings.load(env={}, flags={}).spec().sources}
    records = [bank.nonsense() for _ in range(200)]
    good = [r for r in records if problem(r.value, sources[r.topic]) is None]
    assert {row(r).get("userId") for r in good} == {None}
    assert len({problem(r.value, sources[r.topic]) for r in records}) >= 4
