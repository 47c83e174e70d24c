"""The orchestrator's memory on Kafka: catalog, verdicts, journal and status, written by one fenced producer.

Every write is a transaction. Starting one orchestrator (`load`) fences out the one before it, which finds out at its
next write, at the latest at its next heartbeat.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from pointsman.broker import clients
from pointsman.broker.refusals import refusal
from pointsman.domain.catalog import KEY, Catalog
from pointsman.domain.errors import BrokerError, CatalogError, FencedOut
from pointsman.domain.journal import Entry
from pointsman.domain.status import KEY as STATUS_KEY
from pointsman.domain.status import Status
from pointsman.domain.verdict import Verdict
from pointsman.settings import Settings

log = logging.getLogger(__name__)
SECONDS = 30.0
CLAIM_SECONDS = 2.0  # a new orchestrator writes its name into the catalog well within this after fencing
UNBEGUN = KafkaError._CONFLICT  # the end of an earlier transaction was not waited for long enough
# After these the producer is of no use, or it is not known whether the transaction was committed.
NEEDS_ANOTHER = {
    UNBEGUN,
    KafkaError._FENCED,
    KafkaError._STATE,
    KafkaError._TIMED_OUT,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
}

Record = tuple[str, str | None, bytes, list[tuple[str, bytes]]]  # topic, key, value, headers


class KafkaCatalogStore:
    """The orchestrator's CatalogStore. `close` ends its producer."""

    def __init__(self, settings: Settings, stopping: Callable[[], bool] = lambda: False) -> None:
        """`stopping` tells whether we were asked to end: then nothing is waited for."""
        self._settings, self._names, self._stopping = settings, settings.names, stopping
        self._me = uuid.uuid4().hex
        self._writes = 0
        self._producer: Producer | None = None

    def load(self) -> Catalog | None:
        self._open()
        found = self._newest()
        if found is None:
            return None
        # Written back under our name: whoever was fenced out just now can tell that it was by someone.
        self._transact(lambda: [self._signed(_value(found))])
        return Catalog.from_bytes(_value(found))

    def commit(self, catalog: Catalog, verdicts: Sequence[Verdict] = (), entries: Sequence[Entry] = ()) -> None:
        answers: list[Record] = [(self._names.verdicts, v.key, _json(v.to_json()), []) for v in verdicts]
        self._transact(lambda: [self._signed(catalog.to_bytes()), *answers, *self._journal(entries)])

    def report(self, status: Status | None, entries: Sequence[Entry] = ()) -> None:
        rows: list[Record] = [(self._names.status, STATUS_KEY, _json(status.to_json()), [])] if status else []
        self._transact(lambda: [*rows, *self._journal(entries)])

    def close(self) -> None:
        self._producer = None

    def _journal(self, entries: Sequence[Entry]) -> list[Record]:
        return [(self._names.journal, None, _json(entry.to_json()), []) for entry in entries]

    def _signed(self, catalog: bytes) -> Record:
        self._writes += 1
        return self._names.catalog, KEY, catalog, [("owner", self._me.encode()), ("write", str(self._writes).encode())]

    def _transact(self, records: Callable[[], list[Record]]) -> None:
        """All of these, or none. When an outage leaves it unknown which, the catalog itself is asked."""
        batch = records()
        if not batch:
            return
        try:
            self._attempt(batch)
        except KafkaException as error:
            problem = error.args[0]
            if problem.code() not in NEEDS_ANOTHER and not problem.fatal():
                raise self._broker_error(problem) from error
            log.warning("the catalog's producer must start anew: %s", problem.str())
            if not self._found_written(batch) or problem.code() == UNBEGUN:
                self._retry(batch)

    def _attempt(self, batch: list[Record]) -> None:
        producer = self._producer
        if producer is None:
            raise CatalogError("the catalog store is not open", "call load() first")
        producer.begin_transaction()
        try:
            for topic, key, value, headers in batch:
                producer.produce(topic, value, key, headers=headers)
                producer.poll(0)
            _patiently(producer.commit_transaction)
        except KafkaException as error:
            if error.args[0].txn_requires_abort():
                _patiently(producer.abort_transaction)
            raise

    def _found_written(self, batch: list[Record]) -> bool:
        """As `_recover`, waiting for the broker to come back: going on without an answer could answer twice."""
        while True:
            try:
                return self._recover(batch)
            except BrokerError as error:
                if not any(headers for *_, headers in batch):
                    raise  # a mere report: the next one says as much
                if self._stopping():
                    raise CatalogError(
                        f"it is not known whether the last write reached '{self._names.catalog}': {error}",
                        "start the pipeline again once the broker answers; it goes on from what was written",
                    ) from error
                log.warning("%s; waiting for it; next: %s", error, error.next_step)

    def _recover(self, batch: list[Record]) -> bool:
        """Whether that batch was written after all. Raises FencedOut if the catalog is another's now."""
        time.sleep(CLAIM_SECONDS)
        owner, _ = _signature(self._newest())
        if owner not in (None, self._me):
            self._producer = None
            raise FencedOut(
                f"another orchestrator has taken over '{self._names.catalog}'",
                "this one stops; run one pipeline per topics.prefix",
            )
        self._open()  # ends whatever transaction was left open, one way or the other
        signed = next((dict(headers) for _, _, _, headers in batch if headers), None)
        if signed is None:
            return True  # a report; the next one says as much
        return _signature(self._newest()) == (self._me, signed["write"].decode())

    def _retry(self, batch: list[Record]) -> None:
        try:
            self._attempt(batch)
        except KafkaException as error:
            raise self._broker_error(error.args[0]) from error

    def _open(self) -> None:
        self._producer = clients.producer(
            self._settings.own_cluster,
            **{
                "transactional.id": self._transactional_id,
                "transaction.timeout.ms": int(SECONDS * 1000),
                "linger.ms": 0,
            },
        )
        try:
            _patiently(self._producer.init_transactions)
        except KafkaException as error:
            raise self._broker_error(error.args[0]) from error

    def _newest(self) -> Message | None:
        place = TopicPartition(self._names.catalog, 0, 0)
        consumer = clients.assigned_consumer(
            self._settings.own_cluster, [place], **{"enable.partition.eof": True, "isolation.level": "read_committed"}
        )
        newest: Message | None = None
        deadline = time.monotonic() + SECONDS
        try:
            while time.monotonic() < deadline:
                message = consumer.poll(0.2)
                problem = message.error() if message is not None else None
                if message is not None and clients.at_end(message, self._settings.own_cluster):
                    return newest
                if message is not None and problem is None and message.key() == KEY.encode() and message.value():
                    newest = message
        finally:
            consumer.close()
        raise refusal(
            f"'{self._names.catalog}' could not be read within {SECONDS:.0f} s",
            None,
            self._settings.own_cluster,
            operation="READ",
            on=self._names.catalog,
        )

    def _broker_error(self, problem: KafkaError) -> BrokerError:
        by_id = problem.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return refusal(
            f"'{self._names.catalog}' could not be written",
            problem,
            self._settings.own_cluster,
            operation="WRITE",
            on=self._transactional_id if by_id else self._settings.topics.prefix + "*",
        )

    @property
    def _transactional_id(self) -> str:
        return f"{self._settings.topics.prefix}orchestrator"


def _patiently(act: Callable[[float], None]) -> None:
    """Calls until it works; what may pass is tried again until the deadline."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            act(max(0.1, deadline - time.monotonic()))
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _signature(message: Message | None) -> tuple[str | None, str | None]:
    headers = dict(message.headers() or []) if message is not None else {}
    owner, write = headers.get("owner"), headers.get("write")
    return owner.decode() if owner else None, write.decode() if write else None


def _value(message: Message) -> bytes:
    value: bytes = message.value()
    return value


def _json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()
