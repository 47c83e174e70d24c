"""What is true now: one record, rewritten in place, on the status topic (key `status`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

KEY = "status"


class Health(StrEnum):
    STARTING = "STARTING"  # nothing is live yet
    SERVING = "SERVING"  # the live generation runs
    SWITCHING = "SWITCHING"  # the live generation runs, the next one is being built
    DEGRADED = "DEGRADED"  # a query of the live generation is down, or catching up after a restart
    FAILED = "FAILED"  # nothing is live and the first build failed: a control message may mend it


@dataclass(frozen=True)
class Status:
    topics: Mapping[str, str]  # source name → topic, of the live generation (or the wanted one at first)
    join: str
    last_applied: str  # ISO-8601, when a control message was last applied or confirmed
    generation: int | None
    state: Health
    progress: str  # of a build, for people: "412,000 of 1,000,000 records, 9 s left"
    lag: int | None  # records in the sources that the live generation has not shown
    freshness: float | None  # seconds between the newest source record and what is shown; 0 when caught up
    rate: float | None  # records per second read by the live generation
    last_error: str
    at: float  # seconds since the epoch: the heartbeat
    lags: Mapping[str, int] = field(default_factory=dict)  # the lag per source, as far as it is known

    def to_json(self) -> dict[str, Any]:
        """`usersTopic`, `accountsTopic`, … first: the shape that people know from their old status row."""
        return {
            **{f"{source}Topic": topic for source, topic in self.topics.items()},
            "joinType": self.join,
            "lastApplied": self.last_applied,
            "generation": self.generation,
            "state": self.state.value,
            "progress": self.progress,
            "lag": self.lag,
            "lags": dict(self.lags),
            "freshness": self.freshness,
            "rate": self.rate,
            "lastError": self.last_error,
            "at": self.at,
        }
