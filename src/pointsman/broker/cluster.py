"""One cluster as an administrator sees it: what is asked of it, and why it refuses."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, NewTopic, OffsetSpec

from pointsman.broker import clients, identity, tls
from pointsman.broker.refusals import refusal
from pointsman.domain.errors import BrokerError
from pointsman.settings import Connection

LOOK_SECONDS = 1.0  # until the first look at whether waiting is any use
SURE_SECONDS = 3.0  # a broker that is restarted may break off a handshake; one that refuses us refuses again
WAIT_SECONDS = 30.0
PASSING = {  # a topic made a moment ago has no leader yet, or not one that every broker knows of
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}
AWAY = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}


class Cluster:
    """Every call raises BrokerError: which check failed, for whom and on what, and what to do next."""

    def __init__(self, kafka: Connection) -> None:
        self.kafka = kafka
        self._complaints = clients.Complaints()
        self._admin: AdminClient = clients.admin(kafka, self._complaints)
        self._has_answered = False

    def topics(self, seconds: float) -> dict[str, int]:
        """Topic → number of partitions, of every topic that we may see."""
        found = self._metadata("the topics could not be listed", seconds).topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def check_visible(self, topic: str) -> None:
        """Raises BrokerError if we may not describe it: a broker tells of such a topic only who asks by name."""
        what = f"topic '{topic}' could not be described"
        problem = self._metadata(what, WAIT_SECONDS, topic).topics[topic].error
        if problem is not None and problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise self._refusal(what, problem, "DESCRIBE", topic)

    def create(self, topics: Sequence[NewTopic]) -> None:
        """Those that exist already are left as they are."""
        made = self._admin.create_topics(list(topics), operation_timeout=WAIT_SECONDS)
        self._each(made, "created", "CREATE", KafkaError.TOPIC_ALREADY_EXISTS)

    def delete(self, topics: Sequence[str]) -> None:
        """Those that are gone already stay so."""
        deleted = self._admin.delete_topics(list(topics), operation_timeout=WAIT_SECONDS)
        self._each(deleted, "deleted", "DELETE", KafkaError.UNKNOWN_TOPIC_OR_PART)

    def offsets(
        self, topics: Mapping[str, Sequence[int]], spec: OffsetSpec, seconds: float
    ) -> dict[str, dict[int, int]]:
        wanted = {TopicPartition(topic, p): spec for topic, partitions in topics.items() for p in partitions}
        deadline = time.monotonic() + seconds
        isolation = IsolationLevel.READ_COMMITTED
        while True:
            found: dict[str, dict[int, int]] = {topic: {} for topic in topics}
            asked = self._admin.list_offsets(wanted, request_timeout=seconds, isolation_level=isolation)
            complete = True
            for where, future in asked.items():
                try:
                    found[where.topic][where.partition] = future.result(seconds).offset
                except (KafkaException, TimeoutError) as error:
                    problem, complete = _of(error), False
                    if _code(problem) not in PASSING or time.monotonic() > deadline:
                        what = f"offsets of topic '{where.topic}' could not be read"
                        raise self._refusal(what, problem, "DESCRIBE", where.topic) from error
            if complete:
                return found
            time.sleep(0.05)

    def _metadata(self, what: str, seconds: float, topic: str | None = None) -> ClusterMetadata:
        """In turns: a password that is refused is refused the next time, too, and need not be waited for."""
        self._admin.poll(0)  # hands over the client's complaints
        if self._has_answered:
            self._complaints.said = None  # of an outage that is over; those of a client that never got in stand
        began = time.monotonic()
        deadline = began + seconds
        turn = LOOK_SECONDS
        while True:
            try:
                found = self._admin.list_topics(topic, timeout=max(0.1, min(turn, deadline - time.monotonic())))
                self._has_answered = True
                return found
            except KafkaException as error:
                turn *= 2  # a large cluster may need longer for its answer
                problem = _of(error)
                self._admin.poll(0)
                sure = time.monotonic() > min(deadline, began + SURE_SECONDS)
                wrong = tls.problem(self.kafka) if sure else ""
                refused = sure and (self._complaints.said or identity.problem(self.kafka))
                hopeless = wrong or refused or _code(problem) not in AWAY
                if hopeless or time.monotonic() > deadline:
                    raise self._refusal(what, problem, "DESCRIBE", topic or "", wrong) from error

    def _each(self, futures: Mapping[str, Any], done: str, operation: str, fine: int) -> None:
        for name, future in futures.items():
            try:
                future.result(WAIT_SECONDS)
            except (KafkaException, TimeoutError) as error:
                problem = _of(error)
                if _code(problem) != fine:
                    what = f"topic '{name}' could not be {done}"
                    raise self._refusal(what, problem, operation, name) from error

    def _refusal(
        self, what: str, problem: KafkaError | None, operation: str, topic: str, wrong_tls: str = ""
    ) -> BrokerError:
        said = self._complaints.said
        return refusal(what, problem, self.kafka, operation=operation, on=topic, complaint=said, tls=wrong_tls)


def _of(error: Exception) -> KafkaError | None:
    """None for a time-out of ours."""
    return error.args[0] if isinstance(error, KafkaException) else None


def _code(problem: KafkaError | None) -> int | None:
    return None if problem is None else problem.code()
