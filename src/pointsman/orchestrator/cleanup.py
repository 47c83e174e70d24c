"""Taking away what a generation leaves behind: queries, topics, checkpoint. Safe to do twice, and to do half."""

from __future__ import annotations

from pointsman.domain.errors import PointsmanError
from pointsman.domain.generation import Generation, State
from pointsman.orchestrator.waiting import Backoff
from pointsman.ports import Ports


class Cleanup:
    """Its `trouble` is what went wrong for the first time in a row with the last generation; else empty."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._patience: dict[int, Backoff] = {}
        self.trouble = ""

    def done(self, leaving: Generation, now: float) -> bool:
        """Whether nothing is left of it.

        A failed build's queries stop at once, to make room; a replaced one runs for as long as someone may look at
        it. Topics go when no tables server holds it. What cannot be done is tried again with growing pauses.
        """
        number, self.trouble = leaving.number, ""
        patience = self._patience.setdefault(number, Backoff())
        if not patience.due(now):
            return False
        try:
            if leaving.state is State.FAILED:
                self._ports.engine.stop(number)
            if self._ports.tables.holding(number, now):
                return False
            self._ports.engine.stop(number)
            self._erase(number)
        except PointsmanError as error:
            if patience.fail(now):
                self.trouble = f"generation {number} cannot be freed yet: {error}"
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

    def _erase(self, number: int) -> None:
        self._ports.topics.delete(number)
        self._ports.checkpoints.delete(number)
