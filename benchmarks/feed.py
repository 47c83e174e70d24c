"""Records: as fast as the broker takes them, or at a steady rate with the moment of sending kept."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.ground import SOURCES, Plot
from pointsman.broker import clients

PROBE = 1_000_000_000  # ages and balances from here on are numbers of probe records, and seen in no other record
FAST = {"linger.ms": 20, "compression.type": "lz4", "batch.size": 1_000_000, "queue.buffering.max.messages": 400_000}
PROMPT = {"linger.ms": 0, "socket.nagle.disable": True}  # every record a request of its own
USUAL = {"linger.ms": 5}  # as Kafka's clients are unless told otherwise
Record = tuple[str, bytes, bytes]  # topic, key, value


def user(key: int, age: int) -> bytes:
    return f'{{"userId":"u{key}","name":"name of {key}","email":"user{key}@example.org","age":{age}}}'.encode()


def account(key: int, balance: float) -> bytes:
    return f'{{"userId":"u{key}","accountType":"checking","balance":{balance}}}'.encode()


def pour(plot: Plot, keys: list[int], fed: int = 0) -> int:
    """For each key a user and an account, keyed, as fast as possible; all are in the broker when this returns.

    Returns how many records have been fed with these. The last user and account carry that number, negative, as age
    and balance: a row that shows both tells that all has been read.
    """
    total = fed + 2 * len(keys)
    users, accounts = (plot.topic(s) for s in SOURCES)

    def records() -> Iterator[Record]:
        for count, key in enumerate(keys):
            name = f"u{key}".encode()
            last = count == len(keys) - 1
            age, balance = (-total, -total) if last else (count % 90, count % 5000 + 0.25)
            yield users, name, user(key, age)
            yield accounts, name, account(key, balance)

    send_all(plot, records())
    return total


def send_all(plot: Plot, records: Iterable[Record]) -> None:
    """As fast as possible; all are in the broker when this returns."""
    producer = clients.producer(plot.settings.kafka, **FAST)
    for count, (topic, key, value) in enumerate(records):
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        if count % 1000 == 0:
            producer.poll(0)
    left = producer.flush(120)
    if left:
        raise RuntimeError(f"{left} records were not taken by the broker")


def shuffled(keys: int, seed: int) -> list[int]:
    found = list(range(keys))
    random.Random(seed).shuffle(found)
    return found


def drawn(keys: int, count: int, seed: int) -> list[int]:
    """Keys with repetition: updates spread over all keys."""
    rng = random.Random(seed)
    return [rng.randrange(keys) for _ in range(count)]


def pace(rate: float, seconds: float) -> Iterator[int]:
    """Yields at a steady rate. A late step is followed at once, so that the rate holds on the whole."""
    start = time.perf_counter()
    for step in range(round(rate * seconds)):
        wait = start + step / rate - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        yield step


class Probes:
    """Sends numbered records at a steady rate, users and accounts in turn; `sent` says when each was sent."""

    def __init__(self, plot: Plot, keys: int, producer: Mapping[str, Any] = PROMPT) -> None:
        self.sent: dict[int, float] = {}
        self._producer = clients.producer(plot.settings.kafka, **producer)
        self._topics = [plot.topic(s) for s in SOURCES]
        self._rng = random.Random(7)
        self._keys = keys
        self._known: list[int] = []  # accounts are of users that were sent: a left join shows no others

    def send(self, rate: float, seconds: float) -> float:
        """Returns when it began."""
        began = time.time()
        number = len(self.sent)
        for _ in pace(rate, seconds):
            if number % 2:
                key = self._rng.choice(self._known)
                value = account(key, PROBE + number)
            else:
                key = self._rng.randrange(self._keys)
                value = user(key, PROBE + number)
                self._known.append(key)
            self.sent[number] = time.time()
            self._producer.produce(self._topics[number % 2], value, f"u{key}".encode())
            self._producer.poll(0)
            number += 1
        self._producer.flush(30)
        return began
