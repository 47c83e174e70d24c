"""How far a generation's queries are, as the engine sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    CATCHING_UP = "CATCHING_UP"  # reading what the sources held when it started
    REAL_TIME = "REAL_TIME"  # every query runs in real time
    DOWN = "DOWN"  # a query died and is being restarted from its checkpoint
    BROKEN = "BROKEN"  # a query died and no restart can help: source deleted, data or checkpoint lost


@dataclass(frozen=True)
class Progress:
    """`ready` is never true before every query runs in real time *and* the source end offsets taken after
    that are covered in the output; `read_to` then says, per changelog topic and partition, where that is."""

    phase: Phase
    done: int = 0  # records read in the catch-up
    total: int = 0  # records to read in the catch-up, as known now
    rate: float | None = None  # records per second
    ready: bool = False
    read_to: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    lag: int | None = None
    lags: Mapping[str, int] = field(default_factory=dict)  # the same per source, as far as it is known
    freshness: float | None = None
    error: str = ""
    restarts: int = 0
    fault: str = ""  # what a query died of before the last of them

    def describe(self) -> str:
        """For people: `412,000 of 1,000,000 records, 9 s left`."""
        if self.phase is Phase.REAL_TIME:
            return "caught up" if self.ready else "going real-time"
        if self.phase is not Phase.CATCHING_UP:
            return self.error or "down"
        if not self.total:
            return "starting"
        text = f"{min(self.done, self.total):,} of {self.total:,} records"
        left = self.total - self.done
        if self.rate and left > 0:
            text += f", {left / self.rate:,.0f} s left"
        return text
