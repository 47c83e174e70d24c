"""What the broker permits us, as it says itself."""

from __future__ import annotations

from confluent_kafka import KafkaException, TopicCollection

from pointsman.broker import clients
from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings

SECONDS = 10.0


class Permissions:
    """Names of operations: READ, WRITE, CREATE, DESCRIBE …; None where the broker does not say."""

    def __init__(self, settings: Settings) -> None:
        self._admin = clients.admin(settings.kafka)

    def on_cluster(self) -> frozenset[str] | None:
        try:
            found = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=SECONDS).result()
        except KafkaException as error:
            raise BrokerError(
                f"the cluster does not describe itself: {error.args[0].str()}", "check the broker"
            ) from error
        return _names(found.authorized_operations)

    def on_topic(self, topic: str) -> frozenset[str] | None:
        asked = TopicCollection([topic])
        answer = self._admin.describe_topics(asked, include_authorized_operations=True, request_timeout=SECONDS)
        try:
            return _names(answer[topic].result().authorized_operations)
        except KafkaException as error:
            raise BrokerError(
                f"topic '{topic}' cannot be described: {error.args[0].str()}", "grant DESCRIBE and READ on it"
            ) from error


def _names(operations: list[object] | None) -> frozenset[str] | None:
    return None if operations is None else frozenset(str(getattr(o, "name", o)) for o in operations)
