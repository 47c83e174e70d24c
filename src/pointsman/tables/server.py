"""The tables server: one process, Deephaven inside it, from a settings block to a clean end."""

from __future__ import annotations

import logging
import secrets
import socket
import time
from pathlib import Path

from pointsman.broker import security
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.catalog import Catalog
from pointsman.domain.errors import TablesError
from pointsman.domain.spec import Spec
from pointsman.listening import require_certificate, require_port
from pointsman.settings import Settings
from pointsman.tables import jvm
from pointsman.tables.application import Application
from pointsman.tables.catalog_feed import CatalogFeed
from pointsman.tables.follower import Follower
from pointsman.tables.presence import Presence

log = logging.getLogger(__name__)
APP = Path(__file__).parent / "app"
KEY_BYTES = 24


class TablesServer:
    """`start()` returns when viewers can connect; `stop()` closes every reader and says goodbye on the topic.

    One per process and one start per process: a Java machine cannot be restarted.
    """

    def __init__(self, settings: Settings) -> None:
        given = settings.tables.key.get_secret_value()
        self.settings = settings
        self.key = given or secrets.token_urlsafe(KEY_BYTES)
        self.key_was_generated = not given
        self.url = f"{settings.tables.scheme}://{settings.tables.host}:{settings.tables.port}"
        self._follower: Follower | None = None
        self._application: Application | None = None

    def start(self) -> None:
        started = time.monotonic()
        tables = self.settings.tables
        require_port(tables.host, tables.port, "POINTSMAN_TABLES__PORT")
        require_certificate("tables", tables.tls_certificate, tables.tls_key)
        TopicAdmin(self.settings).ensure(fixed_topics(self.settings))
        feed = CatalogFeed(self.settings)
        catalog = feed.read_to_end()
        self._application = Application(self.settings, _spec_to_show(catalog) or self.settings.spec())
        Application.instance = self._application
        self._start_deephaven()
        presence = Presence(self.settings, f"{socket.gethostname()}:{self.settings.tables.port}", self.url)
        self._follower = Follower(self._application, feed, presence)
        self._follower.start()
        log.info("the tables server answers on %s after %.1f s", self.url, time.monotonic() - started)

    def stop(self) -> None:
        if self._follower is not None:
            self._follower.stop()
        if self._application is not None:
            self._application.close()

    def _start_deephaven(self) -> None:
        tables = self.settings.tables
        home = self.settings.home.absolute()
        folder = home / "tables"
        jvm.start(
            home,
            [f"-Xmx{tables.heap}"],
            {
                **security.java_system_properties(self.settings),
                "authentication.psk": self.key,
                "deephaven.console.disable": str(not tables.console).lower(),
                "deephaven.application.dir": str(APP),
                "deephaven.quiet": "true",
                "deephaven.dataDir": str(folder / "data"),
                "deephaven.cacheDir": str(folder / "cache"),
                "deephaven.configDir": str(folder / "config"),
                "logback.configurationFile": str(APP / "logback.xml"),
                "PeriodicUpdateGraph.targetCycleDurationMillis": str(tables.cycle_ms),
                # How often a client that does not ask for an interval is updated: else once a second.
                "barrage.minUpdateInterval": str(tables.cycle_ms),
                # A sort or filter that outlasts a cycle is made again between two cycles. Once is in vain, not twice.
                "ConstructSnapshot.maxConcurrentAttemptDurationMillis": str(tables.cycle_ms),
                **self._tls(),
            },
        )
        from deephaven_server import Server

        try:
            Server(host=tables.host, port=tables.port).start()
        except RuntimeError as error:
            raise TablesError(
                f"the tables server did not start on {self.url}: {str(error).splitlines()[0]}",
                "see the lines above; tables.port and tables.host say where it is bound",
            ) from error

    def _tls(self) -> dict[str, str]:
        tables = self.settings.tables
        if not tables.tls_certificate:
            return {}
        return {
            "ssl.identity.type": "privatekey",
            "ssl.identity.certChainPath": str(Path(tables.tls_certificate).absolute()),
            "ssl.identity.privateKeyPath": str(Path(tables.tls_key).absolute()),
        }


def _spec_to_show(catalog: Catalog) -> Spec | None:
    """Whose columns the tables have for the life of the server: the live generation's, or what is coming."""
    numbers = sorted(catalog.generations, reverse=True)
    number = catalog.live if catalog.live in catalog.generations else next(iter(numbers), None)
    return catalog.wanted if number is None else catalog.generations[number].spec
