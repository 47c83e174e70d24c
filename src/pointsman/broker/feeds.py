"""What the orchestrator listens to: the control topic, and the tables servers' word on what they hold."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition

from pointsman.broker import clients
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.control import ControlMessage
from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings

MOST_AT_ONCE = 1000
LOOK_SECONDS = 0.02
PARTITIONS_SECONDS = 30.0  # between two looks for new partitions of the control topic
SILENT_SECONDS = 10.0  # five heartbeats: a tables server that says nothing for longer is dead


class KafkaControlFeed:
    """The orchestrator's ControlFeed. Offsets are its caller's to keep: it joins no group and commits nothing.

    A position that the topic no longer holds (expired, or the topic was made anew) means its beginning.
    """

    def __init__(self, settings: Settings, admin: TopicAdmin) -> None:
        self._settings, self._admin = settings, admin
        self._topic = settings.control.topic
        self._consumer: Consumer | None = None
        self._next: dict[int, int] = {}
        self._at_end: dict[int, bool] = {}  # told by the client: offsets alone cannot tell, markers take some
        self._looked = 0.0

    def open(self, position: Mapping[int, int]) -> None:
        self.close()
        starts = self._admin.start_offsets([self._topic])[self._topic]
        self._next = {p: max(start, position.get(p, start)) for p, start in starts.items()}
        self._at_end = dict.fromkeys(starts, False)
        self._looked = time.monotonic()
        self._consumer = clients.assigned_consumer(
            self._settings.control_cluster,
            [TopicPartition(self._topic, p, offset) for p, offset in self._next.items()],
            **{"enable.partition.eof": True, "fetch.wait.max.ms": 20},
        )

    def poll(self) -> Sequence[ControlMessage]:
        self._notice_new_partitions()
        found: list[ControlMessage] = []
        for message in self._consumer.consume(MOST_AT_ONCE, LOOK_SECONDS) if self._consumer else ():
            problem = message.error()
            if problem is None:
                found.append(ControlMessage(message.partition(), message.offset(), message.value()))
                self._next[message.partition()] = message.offset() + 1
                self._at_end[message.partition()] = False
            elif problem.code() == KafkaError._PARTITION_EOF:
                self._at_end[message.partition()] = True
            elif problem.fatal() or problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise clients.unreadable(self._topic, problem, self._settings.control_cluster)
        return found

    def behind(self) -> bool:
        return not all(self._at_end.values())

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _notice_new_partitions(self) -> None:
        if self._consumer is not None and time.monotonic() - self._looked > PARTITIONS_SECONDS:
            self._looked = time.monotonic()
            if set(self._admin.partitions(self._topic)) - set(self._next):
                self.open(self._next)


class KafkaTablesServers:
    """The orchestrator's TablesServers. A server lives while it is heard: its own clock is not asked.

    Words from before this start count as just heard, so a server is given time to speak before it is taken for dead.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._kafka = clock, settings.own_cluster
        self._heard: dict[str, tuple[float, frozenset[int]]] = {}
        self._consumer = clients.assigned_consumer(
            self._kafka, [TopicPartition(settings.names.tables, 0, 0)], **{"enable.partition.eof": True}
        )
        self._read_to_end()

    def holding(self, number: int, now: float) -> Sequence[str]:  # noqa: ARG002 heard by our own clock
        for message in self._consumer.consume(MOST_AT_ONCE, 0):
            if message.error() is None:
                self._hear(message.key(), message.value())
        silent = self._clock() - SILENT_SECONDS
        self._heard = {server: word for server, word in self._heard.items() if word[0] >= silent}
        return sorted(server for server, (_, loaded) in self._heard.items() if number in loaded)

    def close(self) -> None:
        self._consumer.close()

    def _read_to_end(self) -> None:
        deadline = time.monotonic() + SILENT_SECONDS
        while time.monotonic() < deadline:
            message = self._consumer.poll(0.2)
            if message is not None and clients.at_end(message, self._kafka):
                return
            if message is not None and message.error() is None:
                self._hear(message.key(), message.value())
        raise BrokerError("the tables topic could not be read", "check that the broker answers")

    def _hear(self, key: bytes | None, value: bytes | None) -> None:
        server = (key or b"").decode(errors="replace")
        if value is None:
            self._heard.pop(server, None)
            return
        try:
            loaded = frozenset(int(n) for n in json.loads(value)["loaded"])
        except (ValueError, KeyError, TypeError):
            return  # not the word of a tables server
        self._heard[server] = (self._clock(), loaded)
