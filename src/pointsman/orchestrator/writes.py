"""One write of the catalog with the verdicts and journal entries that belong to it, composed purely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pointsman.domain.catalog import Catalog, Pending
from pointsman.domain.control import ControlMessage
from pointsman.domain.cutover import Limits
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Code, Entry, Level
from pointsman.domain.verdict import Outcome, Verdict

LEVELS = {Outcome.REFUSED: Level.WARN, Outcome.FAILED: Level.ERROR}


@dataclass
class Write:
    """Being composed; `catalog` is as it will be once all of this is committed."""

    catalog: Catalog
    now: float
    verdicts: list[Verdict] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def say(self, code: Code, message: str, generation: int | None = None, level: Level = Level.INFO) -> None:
        self.entries.append(Entry(self.now, level, code.value, message, generation))

    def answer(self, asked: Pending, outcome: Outcome, reason: str, generation: int | None) -> None:
        """The one verdict of this message."""
        text = f"{reason}; {asked.note}" if asked.note else reason
        self.verdicts.append(
            Verdict(
                partition=asked.partition,
                offset=asked.offset,
                outcome=outcome,
                reason=text,
                generation=generation,
                duration_ms=max(0, round((self.now - asked.read_at) * 1000)),
                at=self.now,
                request_id=asked.request_id,
                ignored=asked.ignored,
            )
        )
        self.say(
            Code.of(outcome),
            f"control message {asked.place} {outcome}: {text}",
            generation,
            LEVELS.get(outcome, Level.INFO),
        )

    def answer_pending(self, outcome: Outcome, reason: str, generation: int | None) -> None:
        for asked in self.catalog.pending:
            self.answer(asked, outcome, reason, generation)
        self.catalog = replace(self.catalog, pending=())

    def supersede_pending(self, by: str) -> None:
        building = self.catalog.building
        self.answer_pending(
            Outcome.SUPERSEDED, f"superseded by {by} before it was live", building.number if building else None
        )

    def advance(self, message: ControlMessage) -> None:
        following = {**self.catalog.next_control, message.partition: message.offset + 1}
        self.catalog = replace(self.catalog, next_control=following)


def cancelled(catalog: Catalog, building: Generation, now: float) -> Write:
    """What it was built for has been answered already, by whatever made it unwanted."""
    write = Write(catalog.put(building.move(State.FAILED, reason="no longer wanted")), now)
    write.say(
        Code.CANCELLED, f"the build of generation {building.number} is cancelled: no longer wanted", building.number
    )
    return write


def refused(catalog: Catalog, problems: Sequence[str], now: float) -> Write:
    """Nothing was built, and what is live is wanted again."""
    reason = "; ".join(problems)
    write = Write(catalog, now)
    if reason != catalog.last_error:
        write.say(Code.SOURCES_REFUSED, f"the wanted sources cannot be read: {reason}", level=Level.WARN)
    write.answer_pending(Outcome.REFUSED, reason, None)
    write.catalog = replace(write.catalog.wanting_live_again(), last_error=reason)
    return write


def failed(catalog: Catalog, building: Generation, reason: str, now: float) -> Write:
    """It is to be cleaned up; what is live goes on, and is wanted again."""
    number = building.number
    write = Write(catalog.put(building.move(State.FAILED, reason=reason)), now)
    on = f"; generation {catalog.live} goes on" if catalog.live is not None else ""
    write.say(Code.FAILED, f"generation {number} failed: {reason}{on}", number, Level.ERROR)
    write.answer_pending(Outcome.FAILED, f"generation {number} was not published: {reason}{on}", number)
    write.catalog = replace(write.catalog.wanting_live_again(), last_error=reason)
    return write


def published(catalog: Catalog, number: int, now: float, limits: Limits) -> Write:
    """The instant of a cutover: live generation, linger, verdicts, all in one write."""
    old = catalog.live
    write = Write(catalog.publish(number, now, limits.linger_seconds, limits.max_lingering), now)
    write.catalog = replace(write.catalog, last_applied=now, last_error="")
    write.say(Code.PUBLISHED, f"generation {number} is live", number)
    if old is not None:
        lingers = write.catalog.generations[old].state is State.LINGERING
        how = f"lingers for {limits.linger_seconds:g} s" if lingers else "is being freed"
        write.say(Code.LINGERING, f"generation {old} {how}", old)
    write.answer_pending(Outcome.APPLIED, f"generation {number} is live", number)
    return write


def linger_ended(catalog: Catalog, lingering: Generation, now: float) -> Write:
    write = Write(catalog.put(lingering.move(State.FREEING, linger_until=None)), now)
    write.say(Code.FREEING, f"generation {lingering.number} lingers no more and is being freed", lingering.number)
    return write


def freed(catalog: Catalog, leaving: Generation, now: float) -> Write:
    number = leaving.number
    write = Write(catalog.put(leaving.move(State.FREED)), now)
    write.say(Code.FREED, f"generation {number} is gone: queries, topics and checkpoint", number)
    return write
