"""Topic work on a real broker: idempotent, exact about offsets, and plain about what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from pointsman.broker import clients, topics
from pointsman.broker.embedded import free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics, generation_topics
from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import Generation, State
from pointsman.settings import Settings

pytestmark = pytest.mark.broker

Unique = Callable[[str], str]


@pytest.fixture
def admin(live_settings: Settings) -> TopicAdmin:
    return TopicAdmin(live_settings)


def config(settings: Settings, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described = clients.admin(settings.kafka)
    found = described.describe_configs([resource])[resource].result(30)
    return {name: entry.value for name, entry in found.items()}


def write(settings: Settings, topic: str, *timestamps: int, partition: int = 0) -> None:
    producer = clients.producer(settings.kafka)
    for at in timestamps:
        producer.produce(topic, b"x", partition=partition, timestamp=at)
    assert producer.flush(30) == 0


def test_making_topics_twice_changes_nothing(admin: TopicAdmin, live_settings: Settings) -> None:
    plans = fixed_topics(live_settings)
    admin.ensure(plans)
    write(live_settings, live_settings.names.journal, 1)
    admin.ensure(plans)
    assert {p.name for p in plans} <= set(admin.existing())
    assert admin.end_offsets([live_settings.names.journal]) == {live_settings.names.journal: {0: 1}}


def test_a_topic_that_exists_is_left_as_it_is(admin: TopicAdmin, unique: Unique) -> None:
    admin.ensure([TopicPlan(unique("t"), 3)])
    admin.ensure([TopicPlan(unique("t"), 1)])
    assert admin.partitions(unique("t")) == [0, 1, 2]


def test_who_asks_often_hears_of_a_topic_that_is_gone(admin: TopicAdmin, unique: Unique) -> None:
    both = [unique("t"), unique("u")]
    admin.ensure([TopicPlan(topic, 2) for topic in both])
    assert admin.end_offsets(both) == admin.end_offsets(both, often=True) == {t: {0: 0, 1: 0} for t in both}
    admin.delete([unique("t")])
    assert admin.end_offsets([unique("u")], often=True) == {unique("u"): {0: 0, 1: 0}}
    with pytest.raises(BrokerError, match="does not exist"):
        admin.end_offsets(both, often=True)


def test_memory_is_compacted_and_history_expires_and_control_messages_stay(
    admin: TopicAdmin, live_settings: Settings
) -> None:
    admin.ensure(fixed_topics(live_settings))
    names = live_settings.names
    for memory in (names.catalog, names.status, names.tables, names.counts):
        assert config(live_settings, memory)["cleanup.policy"] == "compact"
    for history in (names.journal, names.verdicts, names.dead_letters):
        found = config(live_settings, history)
        assert (found["cleanup.policy"], found["retention.ms"]) == ("delete", str(168 * 3_600_000))
    assert config(live_settings, live_settings.control.topic)["retention.ms"] == "-1"


def test_changelogs_hold_a_row_made_of_the_largest_records(admin: TopicAdmin, live_settings: Settings) -> None:
    names, spec = live_settings.names, live_settings.spec()
    views = {s.name: names.view(1, s.name) for s in spec.sources}
    generation = Generation(1, State.BUILDING, spec, views, names.final(1), "c")
    admin.ensure(generation_topics(generation, live_settings))
    assert config(live_settings, names.final(1))["cleanup.policy"] == "compact"
    assert config(live_settings, views["users"])["cleanup.policy"] == "delete"
    for topic in generation.topics:
        assert int(config(live_settings, topic)["max.message.bytes"]) > 2 * live_settings.pipeline.max_value_bytes


def test_a_deleted_topic_is_gone_when_the_call_returns_and_may_be_missing_before(
    admin: TopicAdmin, unique: Unique
) -> None:
    admin.ensure([TopicPlan(unique("t"))])
    admin.delete([unique("t"), unique("never")])
    assert unique("t") not in admin.existing()
    admin.delete([unique("t")])


def test_nothing_that_only_reads_brings_a_topic_into_being(
    admin: TopicAdmin, live_settings: Settings, unique: Unique
) -> None:
    with pytest.raises(BrokerError, match=f"topic '{unique('gone')}' does not exist") as caught:
        admin.end_offsets([unique("gone")])
    assert "create it" in caught.value.next_step
    producer = clients.producer(live_settings.kafka, **{"message.timeout.ms": 2000})
    producer.produce(unique("gone"), b"x")
    producer.flush(30)
    assert unique("gone") not in admin.existing()


def test_offsets_are_told_per_partition_and_by_time(admin: TopicAdmin, live_settings: Settings, unique: Unique) -> None:
    topic = unique("t")
    admin.ensure([TopicPlan(topic, 2, {"retention.ms": "-1"})])  # records of 1970 are deleted at the next look else
    write(live_settings, topic, 1000, 2000, 3000)
    write(live_settings, topic, 1500, partition=1)
    assert admin.start_offsets([topic]) == {topic: {0: 0, 1: 0}}
    assert admin.end_offsets([topic]) == {topic: {0: 3, 1: 1}}
    assert admin.offsets_at(topic, 2000) == {0: 1, 1: 1}  # partition 1 has nothing that late: its end
    assert admin.offsets_at(topic, 0) == {0: 0, 1: 0}


def test_the_end_leaves_out_what_an_open_transaction_has_written(
    admin: TopicAdmin, live_settings: Settings, unique: Unique
) -> None:
    topic = unique("t")
    admin.ensure([TopicPlan(topic)])
    write(live_settings, topic, 1)
    producer = clients.producer(live_settings.kafka, **{"transactional.id": unique("writer")})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"not yet")
    producer.flush(30)
    assert admin.end_offsets([topic]) == {topic: {0: 1}}
    producer.commit_transaction(30)
    # The commit is answered when it is certain; its marker reaches the partition a moment later.
    deadline = time.monotonic() + 30
    while admin.end_offsets([topic])[topic][0] < 2:
        assert time.monotonic() < deadline


def test_a_broker_that_does_not_answer_is_named_with_what_to_check(
    live_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "TIMEOUT", 1.0)
    nowhere = f"127.0.0.1:{free_port()}"
    kafka = live_settings.kafka.model_copy(update={"bootstrap_servers": nowhere})
    with pytest.raises(BrokerError, match=f"the topics could not be listed on {nowhere}") as caught:
        TopicAdmin(live_settings.model_copy(update={"kafka": kafka})).existing()
    assert "kafka.bootstrap_servers" in caught.value.next_step
