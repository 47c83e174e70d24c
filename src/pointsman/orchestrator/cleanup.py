"""Taking away what a generation leaves behind: queries, topics, checkpoint. Safe to do twice, and to do half."""

from __future__ import annotations

from dataclasses import dataclass, field

from pointsman.domain.errors import PointsmanError
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Code
from pointsman.orchestrator.waiting import Backoff, Overdue
from pointsman.ports import Ports

Trouble = tuple[Code, str]


@dataclass
class _Patience:
    """With one generation."""

    retry: Backoff = field(default_factory=Backoff)
    overdue: Overdue = field(default_factory=Overdue)


class Cleanup:
    """Its `trouble` is what is worth telling of the last generation that was not done; mostly None."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._patience: dict[int, _Patience] = {}
        self.trouble: Trouble | None = None

    def done(self, leaving: Generation, now: float) -> bool:
        """Whether nothing is left of it. Waits for nothing: what takes its time is looked at again in the next call.

        A failed build's queries stop at once, to make room; a replaced one runs for as long as someone may look at
        it. Topics and checkpoint go when no tables server holds it and no query runs. What cannot be done is tried
        again with growing pauses; what is waited for too long is told once.
        """
        number, self.trouble = leaving.number, None
        patience = self._patience.setdefault(number, _Patience())
        if not patience.retry.due(now):
            return False
        try:
            obstacle = self._obstacle(leaving, now)
            if obstacle is None:
                self._erase(number)
        except PointsmanError as error:
            if patience.retry.fail(now):
                self.trouble = Code.TROUBLE, f"generation {number} cannot be freed yet: {error}"
            return False
        if obstacle is not None:
            if patience.overdue.late(obstacle, now):
                self.trouble = obstacle
            return False
        del self._patience[number]
        return True

    def sweep(self, number: int) -> str:
        """Erases a generation that no catalog knows; says what could not be done."""
        try:
            self._erase(number)
        except PointsmanError as error:
            return str(error)
        return ""

    def _obstacle(self, leaving: Generation, now: float) -> Trouble | None:
        number = leaving.number
        if leaving.state is State.FAILED:
            self._ports.engine.stop(number)
        holders = self._ports.tables.holding(number, now)
        if holders:
            return Code.HELD, (
                f"generation {number} is to be freed and is still held by {', '.join(sorted(holders))}: "
                "its topics stay until it is let go of; look at that tables server's log, or restart it"
            )
        if not self._ports.engine.stop(number):
            return Code.TROUBLE, f"the queries of generation {number} were asked to end and still run"
        return None

    def _erase(self, number: int) -> None:
        self._ports.topics.delete(number)
        self._ports.checkpoints.delete(number)
