"""What to start: the roles that settings and flags ask for, on ports that are free, with keys that are kept."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pointsman.broker.embedded import answers
from pointsman.domain.errors import EnvironmentProblem
from pointsman.fleet import ports
from pointsman.fleet.child import Role
from pointsman.fleet.claims import Claims
from pointsman.fleet.keys import kept_key
from pointsman.listening import is_free
from pointsman.settings import Settings

BROKER, FEED, PIPELINE, TABLES, WEB = NAMES = ("broker", "feed", "pipeline", "tables", "web")
LOOPBACK = "127.0.0.1"
SERVERS = "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS"


@dataclass
class Launch:
    """`notices` is what a person must know before; `variables` is what another terminal needs to reach the same."""

    settings: Settings
    origins: Mapping[str, str]  # of each key that somebody has set: where
    claims: Claims
    options: Sequence[str] = ()  # of `pointsman` itself, for every process
    env: Mapping[str, str] = field(default_factory=dict)  # for every process
    roles: list[Role] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    broker_port: int = 0  # of each that was added; 0 before
    tables_port: int = 0
    web_port: int = 0

    @property
    def needs_broker(self) -> bool:
        """Nobody has said where a broker is, so we bring one."""
        return not names_broker(self.origins)

    @property
    def reached(self) -> Settings:
        """The settings with the address that the broker really has."""
        servers = self.variables.get(SERVERS, self.settings.kafka.bootstrap_servers)
        kafka = self.settings.kafka.model_copy(update={"bootstrap_servers": servers})
        return self.settings.model_copy(update={"kafka": kafka})

    @property
    def page(self) -> str:
        return f"{self.settings.web.scheme}://{self._shown(self.settings.web.host)}:{self.web_port}"

    @property
    def viewer_key(self) -> str:
        """Empty where the settings have one: it is not ours to show."""
        return "" if self.settings.tables.key.get_secret_value() else kept_key(self.settings.home, "viewer")

    @property
    def operator_key(self) -> str:
        return "" if self.settings.web.operator_key.get_secret_value() else kept_key(self.settings.home, "operator")

    def add_broker(self, share: bool = True) -> None:
        """An embedded broker, unless one runs here already; `share`: one that somebody else has started will do."""
        wanted = port = int(self.settings.kafka.bootstrap_servers.rpartition(":")[2])
        holder = self.claims.take(BROKER)
        if holder is not None:
            self._reuse(BROKER, holder.pid)
            port = holder.port or port
        elif not is_free(LOOPBACK, port) and share and answers(f"{LOOPBACK}:{port}"):
            self.notices.append(f"a Kafka broker answers on localhost:{port}: using that one")
        else:
            port = self._free_port(BROKER, LOOPBACK, port, "kafka.bootstrap_servers")
            self.claims.tell(BROKER, port)
            data = self.settings.home / BROKER
            self._add(BROKER, "--port", str(port), "--data", str(data))
        self.broker_port = port
        if port != wanted:
            self.variables[SERVERS] = f"localhost:{port}"

    def add_feed(self) -> None:
        self._claim_and_add(FEED, after=(BROKER,))

    def add_pipeline(self) -> None:
        self._claim_and_add(PIPELINE, after=(BROKER, FEED))

    def add_tables(self) -> None:
        tables = self.settings.tables
        holder = self.claims.take(TABLES)
        if holder is not None:
            self._reuse(TABLES, holder.pid)
            self.tables_port = holder.port or tables.port
            return
        self.tables_port = self._free_port(TABLES, tables.host, tables.port, "tables.port")
        self.claims.tell(TABLES, self.tables_port)
        key = {"POINTSMAN_TABLES__KEY": self.viewer_key} if self.viewer_key else {}
        self._add(TABLES, "--port", str(self.tables_port), env=key, after=(BROKER,))

    def add_web(self) -> None:
        """After the tables were added, if they are: the page must know their port."""
        web = self.settings.web
        holder = self.claims.take(WEB)
        if holder is not None:
            self._reuse(WEB, holder.pid)
            self.web_port = holder.port or web.port
            return
        self.web_port = self._free_port(WEB, web.host, web.port, "web.port")
        self.claims.tell(WEB, self.web_port)
        env = {"POINTSMAN_TABLES__PORT": str(self.tables_port or self.settings.tables.port)}
        if self.operator_key:
            env["POINTSMAN_WEB__OPERATOR_KEY"] = self.operator_key
        self._add(WEB, "--port", str(self.web_port), env=env, after=(BROKER,))

    def _claim_and_add(self, name: str, after: tuple[str, ...]) -> None:
        holder = self.claims.take(name)
        if holder is None:
            self._add(name, after=after)
        else:
            self._reuse(name, holder.pid)

    def _add(self, name: str, *options: str, env: dict[str, str] | None = None, after: tuple[str, ...] = ()) -> None:
        command = (sys.executable, "-m", "pointsman", *self.options, name, *options)
        self.roles.append(Role(name, command, {**self.env, **self.variables, **(env or {})}, after))

    def _reuse(self, name: str, pid: int) -> None:
        self.notices.append(f"the {name} already runs here, under process {pid}: using that one")

    def _free_port(self, name: str, host: str, port: int, key: str) -> int:
        """The wanted one, or the next free one where nobody has asked for that one in particular."""
        given_away = frozenset({self.tables_port, self.web_port})
        if port not in given_away and is_free(host, port):
            return port
        holder = ports.holder(port)
        if key in self.origins:
            raise EnvironmentProblem(
                f"port {port} for the {name} ({key}, from {self.origins[key]}) is taken by {holder}",
                f"end that program, or change {key}",
            )
        other = ports.next_free(host, port, given_away)
        self.notices.append(f"port {port} is taken by {holder}: the {name} uses {other} instead")
        return other

    @staticmethod
    def _shown(host: str) -> str:
        return LOOPBACK if host in ("0.0.0.0", "::") else host


def names_broker(origins: Mapping[str, str]) -> bool:
    """Has somebody said where a broker is, or how to reach it?"""
    return any(key.partition(".")[0] == "kafka" for key in origins)
