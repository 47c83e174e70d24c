"""The one record that says which generation is live and what each is made of.

It is one Kafka record, so that a publish is one write: readers see the old catalog or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pointsman.domain.errors import CatalogError
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import JoinType, Spec

FORMAT = 1
KEY = "catalog"


@dataclass(frozen=True)
class Overrides:
    """What control messages have changed of the settings."""

    topics: Mapping[str, str] = field(default_factory=dict)
    join: JoinType | None = None

    @staticmethod
    def between(base: Spec, spec: Spec) -> Overrides | None:
        """The fewest overrides that make `base` into `spec`; None where topics and join are not all that differs."""
        topics = {s.name: s.topic for s in base.sources}
        found = Overrides(
            {s.name: s.topic for s in spec.sources if topics.get(s.name) != s.topic},
            spec.join if spec.join is not base.join else None,
        )
        return found if base.with_overrides(found.topics, found.join) == spec else None


@dataclass(frozen=True)
class Pending:
    """A control message whose verdict waits for the end of a build. All pending ones ask for what is wanted now."""

    partition: int
    offset: int
    read_at: float
    request_id: str | None = None
    ignored: tuple[str, ...] = ()
    note: str = ""  # to be said in the verdict

    @property
    def place(self) -> str:
        return f"{self.partition}-{self.offset}"


@dataclass(frozen=True)
class Catalog:
    """`base` is what the overrides are laid upon: the settings' spec, or, when what is wanted cannot be told by
    overrides of that one (a rollback to a generation of older settings), that spec itself."""

    live: int | None = None
    next_number: int = 1
    generations: Mapping[int, Generation] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    next_control: Mapping[int, int] = field(default_factory=dict)  # control partition → next offset
    settings_fingerprint: str = ""  # of the settings that are wanted; empty: to be tried again at the next start
    base: Spec | None = None
    previous: Spec | None = None  # what was live before, for a rollback when nothing lingers
    publishes: int = 0
    pending: tuple[Pending, ...] = ()
    last_applied: float | None = None  # when a control message was last applied or confirmed
    last_error: str = ""

    @property
    def wanted(self) -> Spec | None:
        """What should be live: the base with the overrides. None before the first start."""
        return None if self.base is None else self.base.with_overrides(self.overrides.topics, self.overrides.join)

    @property
    def live_generation(self) -> Generation | None:
        return None if self.live is None else self.generations[self.live]

    def in_state(self, *states: State) -> list[Generation]:
        """Generations in any of these states, oldest first."""
        return sorted((g for g in self.generations.values() if g.state in states), key=lambda g: g.number)

    def put(self, generation: Generation) -> Catalog:
        """With this generation as it is now; a freed one is forgotten."""
        others = {n: g for n, g in self.generations.items() if n != generation.number}
        if generation.state is not State.FREED:
            others[generation.number] = generation
        return replace(self, generations=others, next_number=max(self.next_number, generation.number + 1))

    @property
    def building(self) -> Generation | None:
        """The one generation on its way to being published."""
        return next(iter(self.in_state(State.BUILDING, State.READY)), None)

    @property
    def lingering(self) -> list[Generation]:
        """Lingering generations, the one that was live most recently first."""
        return sorted(self.in_state(State.LINGERING), key=lambda g: g.published, reverse=True)

    def wanting(self, spec: Spec) -> Catalog:
        """With this spec wanted."""
        overrides = None if self.base is None else Overrides.between(self.base, spec)
        if overrides is None:
            return replace(self, base=spec, overrides=Overrides())
        return replace(self, overrides=overrides)

    def wanting_live_again(self) -> Catalog:
        """After a build that failed. With nothing live the wish stays, for the next message to mend.

        Settings that failed are tried again at the next start: whoever mends a topic restarts and expects it.
        """
        live = self.live_generation
        if live is None:
            return self
        expressible = self.base is not None and Overrides.between(self.base, live.spec) is not None
        return replace(self.wanting(live.spec), settings_fingerprint=self.settings_fingerprint if expressible else "")

    def publish(self, number: int, now: float, linger_seconds: float, max_lingering: int) -> Catalog:
        """With this READY or LINGERING generation live, and the one it replaces lingering: one write, one instant."""
        old, new = self.live_generation, self.generations[number]
        count = self.publishes + 1
        catalog = replace(
            self.put(new.move(State.LIVE, linger_until=None, published=count)), live=number, publishes=count
        )
        if old is not None:
            catalog = catalog.put(old.move(State.LINGERING, linger_until=now + linger_seconds))
            if old.spec != new.spec:
                catalog = replace(catalog, previous=old.spec)
        for excess in catalog.lingering[max_lingering:]:
            catalog = catalog.put(excess.move(State.FREEING, linger_until=None))
        return catalog

    def in_time(self, now: float, linger_seconds: float) -> Catalog:
        """A clock set back, or a shorter setting, makes nothing wait longer than the settings say."""
        catalog, latest = self, now + linger_seconds
        for generation in self.generations.values():
            if generation.linger_until is not None and generation.linger_until > latest:
                catalog = catalog.put(replace(generation, linger_until=latest))
            elif generation.started is not None and generation.started > now:
                catalog = catalog.put(replace(generation, started=now))
        return catalog

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "format": FORMAT,
                "live": self.live,
                "nextNumber": self.next_number,
                "generations": [g.to_json() for _, g in sorted(self.generations.items())],
                "overrides": {
                    "topics": dict(self.overrides.topics),
                    "join": self.overrides.join and self.overrides.join.value,
                },
                "nextControl": {str(p): o for p, o in self.next_control.items()},
                "settingsFingerprint": self.settings_fingerprint,
                "base": self.base and self.base.to_json(),
                "previous": self.previous and self.previous.to_json(),
                "publishes": self.publishes,
                "pending": [
                    {
                        "partition": p.partition,
                        "offset": p.offset,
                        "readAt": p.read_at,
                        "requestId": p.request_id,
                        "ignored": list(p.ignored),
                        "note": p.note,
                    }
                    for p in self.pending
                ],
                "lastApplied": self.last_applied,
                "lastError": self.last_error,
            }
        ).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Catalog:
        try:
            record: dict[str, Any] = json.loads(data)
            if record["format"] != FORMAT:
                raise CatalogError(
                    f"the catalog has format {record['format']}, this Pointsman reads {FORMAT}",
                    "run the version of Pointsman that wrote it, or choose another topics.prefix",
                )
            generations = [Generation.from_json(g) for g in record["generations"]]
            join = record["overrides"]["join"]
            return Catalog(
                live=record["live"],
                next_number=record["nextNumber"],
                generations={g.number: g for g in generations},
                overrides=Overrides(record["overrides"]["topics"], JoinType(join) if join else None),
                next_control={int(p): o for p, o in record["nextControl"].items()},
                settings_fingerprint=record["settingsFingerprint"],
                base=Spec.from_json(record["base"]) if record.get("base") else None,
                previous=Spec.from_json(record["previous"]) if record.get("previous") else None,
                publishes=record.get("publishes", 0),
                pending=tuple(
                    Pending(p["partition"], p["offset"], p["readAt"], p["requestId"], tuple(p["ignored"]), p["note"])
                    for p in record.get("pending", ())
                ),
                last_applied=record.get("lastApplied"),
                last_error=record.get("lastError", ""),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CatalogError(
                f"the catalog record cannot be read: {type(error).__name__}: {error}",
                "look at it with a Kafka console consumer, or choose another topics.prefix",
            ) from error
