"""The newest catalog record, followed."""

from __future__ import annotations

import logging
import time

from pointsman.broker import clients
from pointsman.domain.catalog import KEY, Catalog
from pointsman.domain.errors import BrokerError, CatalogError
from pointsman.settings import Settings

log = logging.getLogger(__name__)
START_SECONDS = 30.0


class CatalogFeed:
    """`latest` is the newest catalog that could be read; a record that cannot be read changes nothing."""

    def __init__(self, settings: Settings) -> None:
        self._kafka = settings.own_cluster
        self._topic = settings.names.catalog
        # The end is told by the client, not by offsets: a transaction's marker takes one and is never read.
        more = {"enable.partition.eof": True, "fetch.wait.max.ms": 20}
        self._consumer = clients.assigned_consumer(self._kafka, clients.beginning(self._topic), **more)
        self.latest = Catalog()
        self.problem = ""

    def read_to_end(self) -> Catalog:
        """The newest catalog there is when this returns."""
        deadline = time.monotonic() + START_SECONDS
        while not self._poll(0.2):
            if time.monotonic() > deadline:
                servers = self._kafka.bootstrap_servers
                raise BrokerError(
                    f"topic '{self._topic}' on {servers} could not be read within {START_SECONDS:.0f} s",
                    "check that the broker answers there (kafka.bootstrap_servers) and what it permits us",
                )
        return self.latest

    def follow(self, seconds: float) -> bool:
        """Waits this long for news; True when `latest` has changed."""
        before = self.latest
        self._poll(seconds)
        return self.latest is not before

    def close(self) -> None:
        self._consumer.close()

    def _poll(self, seconds: float) -> bool:
        """True at the end of the topic."""
        message = self._consumer.poll(seconds)
        if message is None:
            return False
        if message.error() is not None:
            return clients.at_end(message, self._kafka)
        if message.key() == KEY.encode() and message.value() is not None:
            self._take(message.value(), message.offset())
        return False

    def _take(self, value: bytes, offset: int) -> None:
        try:
            self.latest = Catalog.from_bytes(value)
            self.problem = ""
        except (CatalogError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            self.problem = f"the catalog record at offset {offset} is not used: {error}"
            log.error(self.problem)
