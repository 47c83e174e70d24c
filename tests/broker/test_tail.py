"""Reading on: what has come is given at once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pointsman.broker import clients
from pointsman.broker.tail import Message, Tail
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.settings import Settings

pytestmark = pytest.mark.broker


def test_a_few_records_are_given_when_they_come_and_not_when_the_time_is_over(
    live_settings: Settings, unique: Callable[[str], str]
) -> None:
    topic = unique("t")
    TopicAdmin(live_settings).ensure([TopicPlan(topic)])
    producer = clients.producer(live_settings.kafka)
    for value in (b"a", b"b", b"c"):
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    found: list[Message] = []
    began = time.monotonic()
    with Tail(live_settings.kafka, {topic: {0: 0}}) as tail:
        while len(found) < 3:
            found += tail.poll(20)
    assert time.monotonic() - began < 10
    assert [value for *_, value in found] == [b"a", b"b", b"c"]
