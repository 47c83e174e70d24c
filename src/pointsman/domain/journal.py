"""What happened: append-only entries on the journal topic, each with a stable code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pointsman.domain.verdict import Outcome


class Level(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class Code(StrEnum):
    """What an entry is about, for machines; these never change their spelling."""

    STARTED = "orchestrator.started"
    STOPPED = "orchestrator.stopped"
    TROUBLE = "orchestrator.trouble"  # a step could not be taken now and will be tried again
    SETTINGS_CHANGED = "settings.changed"
    SWEPT = "orphans.swept"
    RECEIVED = "control.received"
    APPLIED = "control.applied"
    UNCHANGED = "control.unchanged"
    CONTROL_REFUSED = "control.refused"
    CONTROL_FAILED = "control.failed"
    SUPERSEDED = "control.superseded"
    SOURCES_REFUSED = "sources.refused"
    BUILDING = "generation.building"
    PROGRESS = "generation.progress"
    READY = "generation.ready"
    PUBLISHED = "generation.published"
    LINGERING = "generation.lingering"
    FREEING = "generation.freeing"
    HELD = "generation.held"  # a tables server that lives does not let go of what is to be freed
    FREED = "generation.freed"
    CANCELLED = "generation.cancelled"
    FAILED = "generation.failed"
    DOWN = "generation.down"
    RECOVERED = "generation.recovered"
    BROKEN = "generation.broken"

    @staticmethod
    def of(outcome: Outcome) -> Code:
        return Code(f"control.{outcome.value}")


@dataclass(frozen=True)
class Entry:
    at: float  # seconds since the epoch
    level: Level
    code: str  # stable, for machines: "generation.published"
    message: str  # for people
    generation: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "ts": self.at,
            "level": self.level.value,
            "msg": self.message,
            "generation": self.generation,
            "code": self.code,
        }
