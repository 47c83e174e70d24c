"""One built version of a spec, and the states it may go through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pointsman.domain.errors import IllegalMove
from pointsman.domain.spec import Spec


class State(StrEnum):
    BUILDING = "BUILDING"  # its queries catch up beside the live one
    READY = "READY"  # caught up and running in real time; about to be published
    LIVE = "LIVE"  # the one that the tables show
    LINGERING = "LINGERING"  # replaced, still running, so that a rollback costs nothing
    FREEING = "FREEING"  # to be let go of by every tables server, then deleted
    FREED = "FREED"  # gone: queries stopped, topics and checkpoint deleted
    FAILED = "FAILED"  # never published; its leftovers are deleted like a freed one's


MOVES: dict[State, frozenset[State]] = {
    State.BUILDING: frozenset({State.READY, State.FAILED}),
    State.READY: frozenset({State.LIVE, State.FAILED}),
    State.LIVE: frozenset({State.LINGERING}),
    State.LINGERING: frozenset({State.LIVE, State.FREEING}),
    State.FREEING: frozenset({State.FREED}),
    State.FAILED: frozenset({State.FREED}),
    State.FREED: frozenset(),
}


@dataclass(frozen=True)
class Generation:
    """`read_to`: per changelog topic and partition, the offset a reader must reach before showing it."""

    number: int
    state: State
    spec: Spec
    views: Mapping[str, str]  # source name → changelog topic
    final: str
    checkpoint: str
    read_to: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    linger_until: float | None = None
    reason: str = ""
    started: float | None = None  # when this build, or its resumption after a restart, began
    published: int = 0  # the how-manieth publish made it live: of two, the higher was live more recently

    def move(self, to: State, **changes: Any) -> Generation:
        if to not in MOVES[self.state]:
            allowed = ", ".join(sorted(MOVES[self.state])) or "nothing"
            raise IllegalMove(
                f"generation {self.number} is {self.state} and cannot become {to}; from there it can become {allowed}"
            )
        return replace(self, state=to, **changes)

    @property
    def topics(self) -> tuple[str, ...]:
        return (*self.views.values(), self.final)

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "state": self.state.value,
            "spec": self.spec.to_json(),
            "fingerprint": self.spec.fingerprint,
            "columns": [{"name": c.name, "type": c.type.value} for c in self.spec.output_columns],
            "views": dict(self.views),
            "final": self.final,
            "checkpoint": self.checkpoint,
            "readTo": {t: {str(p): o for p, o in offsets.items()} for t, offsets in self.read_to.items()},
            "lingerUntil": self.linger_until,
            "reason": self.reason,
            "started": self.started,
            "published": self.published,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Generation:
        return Generation(
            number=data["number"],
            state=State(data["state"]),
            spec=Spec.from_json(data["spec"]),
            views=data["views"],
            final=data["final"],
            checkpoint=data["checkpoint"],
            read_to={t: {int(p): o for p, o in offsets.items()} for t, offsets in data["readTo"].items()},
            linger_until=data["lingerUntil"],
            reason=data.get("reason", ""),
            started=data.get("started"),
            published=data.get("published", 0),
        )
