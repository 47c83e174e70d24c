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
from pointsman.domain.spec import JoinType

FORMAT = 1
KEY = "catalog"


@dataclass(frozen=True)
class Overrides:
    """What control messages have changed of the settings."""

    topics: Mapping[str, str] = field(default_factory=dict)
    join: JoinType | None = None


@dataclass(frozen=True)
class Catalog:
    live: int | None = None
    next_number: int = 1
    generations: Mapping[int, Generation] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    next_control: Mapping[int, int] = field(default_factory=dict)  # control partition → next offset
    settings_fingerprint: str = ""

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
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CatalogError(
                f"the catalog record cannot be read: {type(error).__name__}: {error}",
                "look at it with a Kafka console consumer, or choose another topics.prefix",
            ) from error
