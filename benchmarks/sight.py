"""When was each probe record seen? A reader quick enough not to be what is measured, and its own floor."""

from __future__ import annotations

import json
import sys
import threading
import time
from types import TracebackType

from confluent_kafka import TopicPartition

from benchmarks.feed import PROBE, PROMPT, pace
from benchmarks.figures import Latency, latency
from benchmarks.ground import Plot
from pointsman.broker import clients
from pointsman.broker.topics import TopicPlan

# The broker answers a fetch as soon as there is a record; what is left are the client's own timers.
QUICK = {"fetch.wait.max.ms": 100, "fetch.min.bytes": 1, "socket.nagle.disable": True, "fetch.queue.backoff.ms": 1}
# A thread that has something to stamp must not wait for the other's turn to end.
sys.setswitchinterval(0.0005)


class Sightings:
    """Reads one topic from its end, in a thread of its own, inside `with`. `seen`: number → moment first seen."""

    def __init__(self, plot: Plot, topic: str) -> None:
        self.seen: dict[int, float] = {}
        self.moments: list[float] = []  # of every record, also of those that are no probe's
        ends = plot.admin.end_offsets([topic])[topic]
        places = [TopicPartition(topic, p, end) for p, end in ends.items()]
        self._consumer = clients.assigned_consumer(plot.settings.kafka, places, **QUICK)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def await_all(self, count: int, seconds: float) -> None:
        """Returns when this many probes have been seen, or when for these seconds no new one came."""
        known, deadline = len(self.seen), time.monotonic() + seconds
        while len(self.seen) < count and time.monotonic() < deadline:
            if len(self.seen) > known:
                known, deadline = len(self.seen), time.monotonic() + seconds
            time.sleep(0.02)

    def _read(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None or message.error():
                continue
            now = time.time()
            self.moments.append(now)
            for number in probe_numbers(message.value()):
                self.seen.setdefault(number, now)

    def __enter__(self) -> Sightings:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()


def probe_numbers(value: bytes | None) -> list[int]:
    """The probe records that a joined row shows: a user's in `age`, an account's in `balance`."""
    if not value:
        return []
    row = json.loads(value)
    found = (row.get("age") or 0, row.get("balance") or 0)
    return [int(n) - PROBE for n in found if n >= PROBE]


def floor(plot: Plot, rate: float, warm_up: float, seconds: float) -> Latency:
    """Producer → broker → this reader, with nothing between: what every latency here contains."""
    topic = f"{plot.settings.topics.prefix}floor"
    plot.make([TopicPlan(topic)])
    producer = clients.producer(plot.settings.kafka, **PROMPT)
    sent: dict[int, float] = {}
    with Sightings(plot, topic) as sightings:
        for number in pace(rate, warm_up + seconds):
            sent[number] = time.time()
            producer.produce(topic, f'{{"age":{PROBE + number}}}'.encode())
            producer.poll(0)
        producer.flush(30)
        sightings.await_all(len(sent), 5)
    return latency(sent, sightings.seen, since=sent[0] + warm_up)
