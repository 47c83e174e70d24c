"""The answer to one control message. Every message gets exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    APPLIED = "applied"  # the live generation is what the message asked for
    UNCHANGED = "unchanged"  # it already was
    REFUSED = "refused"  # the message or what it asks for is not valid; nothing was built
    FAILED = "failed"  # it was built and did not become ready; the old generation goes on
    SUPERSEDED = "superseded"  # a newer message took its place before it was live


@dataclass(frozen=True)
class Verdict:
    partition: int  # where the control message stands on the control topic
    offset: int
    outcome: Outcome
    reason: str
    generation: int | None
    duration_ms: int  # from the message being read to this verdict
    at: float  # seconds since the epoch
    request_id: str | None = None
    ignored: tuple[str, ...] = ()  # unknown fields of the message

    @property
    def key(self) -> str:
        return f"{self.partition}-{self.offset}"

    def to_json(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offset": self.offset,
            "requestId": self.request_id,
            "verdict": self.outcome.value,
            "reason": self.reason,
            "generation": self.generation,
            "durationMs": self.duration_ms,
            "ignored": list(self.ignored),
            "ts": self.at,
        }
