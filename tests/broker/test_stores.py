"""The orchestrator's memory on a real broker: all or nothing, one writer, and nothing forgotten."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pointsman.broker import clients, stores
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.feeds import KafkaControlFeed, KafkaTablesServers
from pointsman.broker.generation_topics import KafkaGenerationTopics
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.catalog import Catalog
from pointsman.domain.control import ControlMessage, Rules
from pointsman.domain.cutover import Limits
from pointsman.domain.errors import BrokerError, FencedOut
from pointsman.domain.journal import Entry, Level
from pointsman.domain.status import Health, Status
from pointsman.domain.verdict import Outcome, Verdict
from pointsman.memory import MemoryEngine, World
from pointsman.orchestrator import Orchestrator
from pointsman.settings import Settings, load

pytestmark = pytest.mark.broker

STATUS = Status({"users": "u"}, "left", "", None, Health.STARTING, "", None, None, None, "", 1.0)
ENTRY = Entry(1.0, Level.INFO, "orchestrator.started", "started")


@pytest.fixture
def admin(live_settings: Settings) -> TopicAdmin:
    made = TopicAdmin(live_settings)
    made.ensure(fixed_topics(live_settings))
    return made


@pytest.fixture
def store(live_settings: Settings, admin: TopicAdmin) -> KafkaCatalogStore:
    return KafkaCatalogStore(live_settings)


def verdict(offset: int) -> Verdict:
    return Verdict(0, offset, Outcome.APPLIED, "generation 1 is live", 1, 12, 1.0)


def records(settings: Settings, admin: TopicAdmin, topic: str) -> list[Any]:
    with Tail(settings.kafka, admin.start_offsets([topic])) as tail:
        return [json.loads(value or b"null") for *_, value in tail.until(admin.end_offsets([topic]), 20)]


def send(settings: Settings, topic: str, *values: bytes | None, key: str | None = None) -> None:
    producer = clients.producer(settings.kafka)
    for value in values:
        producer.produce(topic, value, key)
    assert producer.flush(20) == 0


def drained(feed: KafkaControlFeed) -> list[ControlMessage]:
    found: list[ControlMessage] = []
    deadline = time.monotonic() + 20
    while feed.behind():
        assert time.monotonic() < deadline, "the feed never came to the end"
        found += feed.poll()
    return found


def test_what_one_process_commits_the_next_one_loads(live_settings: Settings, store: KafkaCatalogStore) -> None:
    assert store.load() is None
    catalog = Catalog(next_control={0: 7}, base=live_settings.spec())
    store.commit(catalog)
    store.commit(replace(catalog, next_control={0: 8}))
    assert KafkaCatalogStore(live_settings).load() == replace(catalog, next_control={0: 8})


def test_catalog_verdicts_journal_and_status_reach_their_topics(
    live_settings: Settings, store: KafkaCatalogStore, admin: TopicAdmin
) -> None:
    store.load()
    store.commit(Catalog(next_control={0: 2}), [verdict(0), verdict(1)], [ENTRY])
    store.report(STATUS, [ENTRY])
    store.report(None)
    names = live_settings.names
    assert [v["offset"] for v in records(live_settings, admin, names.verdicts)] == [0, 1]
    assert [e["code"] for e in records(live_settings, admin, names.journal)] == ["orchestrator.started"] * 2
    assert [s["usersTopic"] for s in records(live_settings, admin, names.status)] == ["u"]


def test_a_write_that_a_crash_left_half_done_is_never_seen(
    live_settings: Settings, store: KafkaCatalogStore, admin: TopicAdmin
) -> None:
    store.load()
    store.commit(Catalog(next_control={0: 1}), [verdict(0)])
    half = store._producer
    assert half is not None
    half.begin_transaction()
    half.produce(live_settings.names.catalog, Catalog(next_control={0: 2}).to_bytes(), "catalog")
    half.produce(live_settings.names.verdicts, json.dumps(verdict(1).to_json()).encode(), "0-1")
    half.flush(20)
    following = KafkaCatalogStore(live_settings)
    assert following.load() == Catalog(next_control={0: 1})
    following.commit(Catalog(next_control={0: 3}), [verdict(2)])
    assert [v["offset"] for v in records(live_settings, admin, live_settings.names.verdicts)] == [0, 2]


@pytest.mark.parametrize(
    "write",
    [lambda s: s.commit(Catalog(next_number=99), [verdict(9)]), lambda s: s.report(STATUS)],
    ids=["commit", "report"],
)
def test_a_second_orchestrator_fences_the_first_out(
    write: Callable[[KafkaCatalogStore], None], live_settings: Settings, store: KafkaCatalogStore, admin: TopicAdmin
) -> None:
    store.load()
    store.commit(Catalog(next_number=5))
    second = KafkaCatalogStore(live_settings)
    assert second.load() == Catalog(next_number=5)
    with pytest.raises(FencedOut, match="another orchestrator") as caught:
        write(store)
    assert "topics.prefix" in caught.value.next_step
    second.commit(Catalog(next_number=6))
    second.report(STATUS)
    assert KafkaCatalogStore(live_settings).load() == Catalog(next_number=6)
    assert records(live_settings, admin, live_settings.names.verdicts) == []


def test_an_open_store_that_lost_its_producer_but_not_its_catalog_goes_on(
    live_settings: Settings, store: KafkaCatalogStore
) -> None:
    """A transaction that timed out looks like fencing; the catalog tells that nobody has taken over."""
    store.load()
    store.commit(Catalog(next_number=5))
    stray = KafkaCatalogStore(live_settings)
    stray._open()  # fences, and never claims the catalog
    store.commit(Catalog(next_number=6))
    assert KafkaCatalogStore(live_settings).load() == Catalog(next_number=6)


@pytest.fixture
def feed(live_settings: Settings, admin: TopicAdmin) -> Iterator[KafkaControlFeed]:
    made = KafkaControlFeed(live_settings, admin)
    yield made
    made.close()


def test_a_store_writes_again_after_a_broker_that_was_silent_for_longer_than_a_write_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SECONDS", 3.0)
    with EmbeddedBroker(tmp_path / "broker", free_port()) as broker:
        here = load(env={}, toml=None, flags={"home": str(tmp_path), "kafka": {"bootstrap_servers": broker.address}})
        admin = TopicAdmin(here)
        admin.ensure(fixed_topics(here))
        store = KafkaCatalogStore(here)
        store.load()
        store.report(STATUS)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(BrokerError):
                store.report(STATUS, [ENTRY])
        finally:
            os.kill(broker.pid, signal.SIGCONT)

        def written() -> bool:
            try:
                store.report(STATUS, [replace(ENTRY, message="after it")])
            except BrokerError:
                return False
            return True

        _until(written, 40)
        assert "after it" in [entry["msg"] for entry in records(here, admin, here.names.journal)]
        store.close()


def test_the_control_feed_reads_on_from_where_it_is_told(live_settings: Settings, feed: KafkaControlFeed) -> None:
    feed.open({})
    assert drained(feed) == []
    send(live_settings, live_settings.control.topic, b"a", None, b"c")
    feed.open({})
    assert drained(feed) == [ControlMessage(0, 0, b"a"), ControlMessage(0, 1, None), ControlMessage(0, 2, b"c")]
    feed.open({0: 2})
    assert drained(feed) == [ControlMessage(0, 2, b"c")]
    feed.open({0: 3})
    assert drained(feed) == []


def test_the_control_feed_reads_a_topic_that_was_made_anew(live_settings: Settings, feed: KafkaControlFeed) -> None:
    send(live_settings, live_settings.control.topic, b"a")
    feed.open({0: 1000})
    assert drained(feed) == [ControlMessage(0, 0, b"a")]


def test_the_control_feed_comes_to_the_end_past_transaction_markers(
    live_settings: Settings, feed: KafkaControlFeed
) -> None:
    producer = clients.producer(live_settings.kafka, **{"transactional.id": live_settings.control.topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(live_settings.control.topic, b"a")
    producer.commit_transaction(20)
    feed.open({})
    assert [m.value for m in drained(feed)] == [b"a"]


def test_tables_servers_hold_a_generation_until_they_let_go_leave_or_fall_silent(
    live_settings: Settings, admin: TopicAdmin
) -> None:
    now = 0.0
    topic = live_settings.names.tables

    def word(server: str, *loaded: int) -> None:
        send(live_settings, topic, json.dumps({"server": server, "loaded": loaded}).encode(), key=server)

    word("early", 1)
    send(live_settings, topic, b"nonsense", key="early-2")
    servers = KafkaTablesServers(live_settings, lambda: now)
    assert servers.holding(1, 0) == ["early"]
    word("other", 1, 2)
    _until(lambda: servers.holding(1, 0) == ["early", "other"])
    word("other", 2)
    _until(lambda: servers.holding(1, 0) == ["early"])
    assert servers.holding(2, 0) == ["other"]
    send(live_settings, topic, None, key="other")
    _until(lambda: servers.holding(2, 0) == [])
    now = 11.0
    assert servers.holding(1, 0) == []
    servers.close()


def test_a_thousand_messages_in_a_second_are_two_builds_at_most_and_a_thousand_verdicts(
    live_settings: Settings, store: KafkaCatalogStore, feed: KafkaControlFeed, admin: TopicAdmin
) -> None:
    """Everything real but the queries."""
    world = World(readable={s.topic for s in live_settings.spec().sources} | {"raw", "curated"})
    ports = replace(world.process(), store=store, feed=feed, topics=KafkaGenerationTopics(live_settings, admin))
    engine = ports.engine
    assert isinstance(engine, MemoryEngine)
    orchestrator = Orchestrator(
        ports,
        settings=live_settings.spec(),
        rules=Rules(("users", "accounts"), live_settings.topics.prefix),
        names=live_settings.names,
        limits=Limits(max_lingering=0),
    )
    orchestrator.start(time.time())

    def ticking(done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not done():
            assert time.monotonic() < deadline
            orchestrator.tick(time.time())
            if orchestrator.catalog.building:
                engine.catch_up(orchestrator.catalog.building.number)

    ticking(lambda: orchestrator.catalog.live == 1)
    topics = ["raw", "curated", "missing", live_settings.sources["users"].topic]
    messages = [json.dumps({"usersTopic": topics[i % 4], "requestId": i}).encode() for i in range(998)]
    last = [b'{"usersTopic": "raw", "joinType": "inner"}', b'{"joinType": "bogus"}']
    send(live_settings, live_settings.control.topic, *messages, *last)
    ticking(lambda: orchestrator.catalog.next_control == {0: 1000} and not orchestrator.catalog.pending)
    answers = records(live_settings, admin, live_settings.names.verdicts)
    assert sorted(v["offset"] for v in answers) == list(range(1000))
    assert answers[-1]["verdict"] == "applied" or any(v["offset"] == 998 and v["verdict"] == "applied" for v in answers)
    live = orchestrator.catalog.live_generation
    assert live is not None
    assert (live.spec.left.topic, live.spec.join) == ("raw", "inner")
    assert orchestrator.catalog.next_number <= 4
    ticking(lambda: set(orchestrator.catalog.generations) == {live.number})
    assert KafkaGenerationTopics(live_settings, admin).numbers() == {live.number}


def _until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
