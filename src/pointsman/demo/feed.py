"""The bank's story, sent to the topics at a steady rate."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from random import Random

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.demo.bank import TOPICS, Bank, Record
from pointsman.settings import Settings

log = logging.getLogger(__name__)
SEED = 7
PARTITIONS = 2
NONSENSE_SECONDS = 5.0
FLUSH_SECONDS = 30.0
# Everyone is heard of again within minutes, so old segments may go: a build never has more than an hour to read.
KEPT = {"retention.ms": "3600000", "segment.ms": "600000"}


class Feed:
    """`begin()` makes the topics and tells of everyone; `run()` goes on until asked to end."""

    def __init__(self, settings: Settings, rate: float) -> None:
        self._settings, self._rate = settings, rate
        self._bank = Bank(Random(SEED))
        self._producer = clients.producer(settings.kafka)

    def begin(self) -> None:
        TopicAdmin(self._settings).ensure(TopicPlan(topic, PARTITIONS, KEPT) for topic in TOPICS)
        self._send(self._bank.everyone())
        self._producer.flush(FLUSH_SECONDS)

    def run(self, asked: threading.Event, clock: Callable[[], float] = time.monotonic) -> None:
        due = nonsense = clock()
        while not asked.wait(max(0.0, due - clock())):
            now = clock()
            due = max(due + 1 / self._rate, now - 1)  # after a pause it does not make up for lost time
            self._send(self._bank.happening())
            if now >= nonsense:
                nonsense = now + NONSENSE_SECONDS
                self._send([self._bank.nonsense()])
        self._producer.flush(1)

    def _send(self, records: Iterable[Record]) -> None:
        for record in records:
            try:
                self._producer.produce(record.topic, record.value, record.key)
            except BufferError:  # the broker is away: what the story says meanwhile is lost, and told again later
                log.debug("not sent: %s", record.key)
            self._producer.poll(0)
