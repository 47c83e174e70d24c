"""What happened: append-only entries on the journal topic, each with a stable code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


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
