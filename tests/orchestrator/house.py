"""An orchestrator in a world in memory, with hands to move it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from pointsman.domain.catalog import Catalog
from pointsman.domain.control import Rules
from pointsman.domain.cutover import Limits
from pointsman.domain.generation import Generation, State
from pointsman.domain.names import TopicNames
from pointsman.domain.spec import Column, ColumnType, JoinType, Source, Spec
from pointsman.domain.status import Health, Status
from pointsman.domain.verdict import Outcome, Verdict
from pointsman.memory import MemoryEngine, World
from pointsman.orchestrator import Orchestrator, Pace
from pointsman.ports import Ports

KEY = Column("userId", ColumnType.STRING)
SPEC = Spec(
    (
        Source("users", "users", (KEY, Column("name", ColumnType.STRING))),
        Source("accounts", "accounts", (KEY, Column("balance", ColumnType.DOUBLE))),
    ),
    "userId",
    JoinType.LEFT,
)
RULES = Rules(("users", "accounts"), "pointsman.", r"[a-z.-]+")
PACE = Pace(settle=0.3, settle_at_most=2)


class House:
    """Time passes only by `later`; builds are caught up only by `catch_up`."""

    def __init__(self, limits: Limits | None = None, spec: Spec = SPEC) -> None:
        self.world = World(readable={"users", "accounts", "raw.users", "raw.accounts", "curated.users"})
        self.limits = limits or Limits()
        self.spec = spec
        self.now = 1_000_000.0
        self.ports: Ports = self.world.process()
        self.orchestrator = self._orchestrator()

    def _orchestrator(self) -> Orchestrator:
        names = TopicNames("pointsman.")
        return Orchestrator(self.ports, settings=self.spec, rules=RULES, names=names, limits=self.limits, pace=PACE)

    @property
    def engine(self) -> MemoryEngine:
        return cast(MemoryEngine, self.ports.engine)

    @property
    def catalog(self) -> Catalog:
        return self.orchestrator.catalog

    @property
    def live(self) -> Generation:
        generation = self.catalog.live_generation
        assert generation is not None
        return generation

    @property
    def building(self) -> Generation:
        generation = self.catalog.building
        assert generation is not None
        return generation

    @property
    def status(self) -> Status:
        assert self.world.status is not None
        return self.world.status

    def health(self) -> Health:
        return self.status.state

    def start(self) -> House:
        self.orchestrator.start(self.now)
        return self

    def restart(self, spec: Spec | None = None) -> House:
        """The process dies where it stands, and another one starts."""
        self.spec = spec or self.spec
        self.ports = self.world.process()
        self.orchestrator = self._orchestrator()
        return self.start()

    def later(self, seconds: float = 0.5) -> House:
        """The flood has settled by then."""
        self.orchestrator.tick(self.now)
        self.now += seconds
        self.orchestrator.tick(self.now)
        return self

    def catch_up(self) -> House:
        self.engine.catch_up(self.building.number)
        return self.later()

    def serving(self) -> House:
        """With a first generation live."""
        self.start().later().catch_up()
        assert self.catalog.live == 1
        return self

    def send(self, **fields: Any) -> int:
        return self.world.send(json.dumps(fields))

    def switch(self, **fields: Any) -> int:
        """Sends, builds, catches up, publishes."""
        offset = self.send(**fields)
        self.later().catch_up()
        return offset

    def verdict(self, offset: int) -> Verdict:
        found = [v for v in self.world.verdicts if v.offset == offset]
        assert len(found) == 1, f"message {offset} has {len(found)} verdicts"
        return found[0]

    def outcome(self, offset: int) -> Outcome:
        return self.verdict(offset).outcome

    def numbers(self, state: State) -> list[int]:
        return [g.number for g in self.catalog.in_state(state)]

    def codes(self) -> list[str]:
        return [entry.code for entry in self.world.journal]


def spec(users: str = "users", accounts: str = "accounts", join: JoinType = JoinType.LEFT) -> Spec:
    return SPEC.with_overrides({"users": users, "accounts": accounts}, join)


def with_columns(*names: str) -> Spec:
    """Settings that differ by more than an override can say."""
    users = replace(SPEC.left, columns=(KEY, *(Column(n, ColumnType.STRING) for n in names)))
    return replace(SPEC, sources=(users, *SPEC.rights))
