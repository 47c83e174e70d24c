"""Control messages, folded into one wish: newest wins, and each is answered now or waits for the build it asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import assert_never

from pointsman.domain import control
from pointsman.domain.catalog import Catalog, Pending
from pointsman.domain.control import Change, ControlMessage, Refusal, Rollback, Rules
from pointsman.domain.cutover import Limits
from pointsman.domain.journal import Code
from pointsman.domain.spec import Source, Spec
from pointsman.domain.verdict import Outcome
from pointsman.orchestrator.writes import Write

Check = Callable[[Source], Sequence[str]]
MOST_PENDING = 100  # the catalog is one record: of more messages that ask for the same, the oldest are superseded


def fold(
    catalog: Catalog,
    messages: Sequence[ControlMessage],
    *,
    rules: Rules,
    limits: Limits,
    check: Check,
    now: float,
    broken: Collection[int] = (),
) -> Write:
    """The catalog after these messages. A refused message changes nothing but the next offset to read.

    Only topics that are neither wanted nor live already are checked, so that a message naming one that
    cannot be read is refused alone and the last valid message wins. The catalog must have a base.
    """
    return _Fold(Write(catalog, now), rules, limits, check, broken).all(messages)


class _Fold:
    def __init__(self, write: Write, rules: Rules, limits: Limits, check: Check, broken: Collection[int]) -> None:
        self._write = write
        self._rules, self._limits, self._check, self._broken = rules, limits, check, broken
        self._rolled_back: Pending | None = None  # answered at the end: only the last one of a batch is ever shown

    def all(self, messages: Sequence[ControlMessage]) -> Write:
        for message in messages:
            self._one(message)
        if self._rolled_back is not None:
            live = self._write.catalog.live
            self._write.answer(self._rolled_back, Outcome.APPLIED, f"rolled back: generation {live} is live", live)
        return self._write

    def _one(self, message: ControlMessage) -> None:
        self._write.advance(message)
        command = control.read(message.value, self._rules)
        asked = Pending(message.partition, message.offset, self._write.now, command.request_id, command.ignored)
        match command:
            case Refusal():
                self._write.answer(asked, Outcome.REFUSED, command.reason, None)
            case Change():
                self._change(asked, command)
            case Rollback():
                self._roll_back(asked)
            case _:
                assert_never(command)

    def _change(self, asked: Pending, change: Change) -> None:
        self._want(self._wanted().with_overrides(change.topics, change.join), asked)

    def _roll_back(self, asked: Pending) -> None:
        catalog = self._write.catalog
        target = next((g for g in catalog.lingering if g.number not in self._broken), None)
        if target is not None:
            self._write.supersede_pending(f"the message at {asked.place}")
            if self._rolled_back is not None:
                self._write.answer(
                    self._rolled_back, Outcome.SUPERSEDED, f"superseded by the message at {asked.place}", None
                )
            self._rolled_back = asked
            catalog = self._write.catalog.wanting(target.spec).publish(
                target.number, self._write.now, self._limits.linger_seconds, self._limits.max_lingering
            )
            self._write.catalog = replace(catalog, last_applied=self._write.now, last_error="")
            self._write.say(Code.PUBLISHED, f"generation {target.number} is live again", target.number)
        elif catalog.live is None or catalog.previous is None:
            self._write.answer(
                asked, Outcome.REFUSED, "rollback: nothing was live before, so there is no way back", None
            )
        else:
            self._want(catalog.previous, replace(asked, note="nothing lingered, so the previous spec was rebuilt"))

    def _want(self, target: Spec, asked: Pending) -> None:
        write = self._write
        live = write.catalog.live_generation
        problems = self._problems(target)
        if problems:
            write.answer(asked, Outcome.REFUSED, "; ".join(problems), None)
            return
        write.say(Code.RECEIVED, f"control message {asked.place} asks for {describe(target)}")
        if target != write.catalog.wanted:
            write.supersede_pending(f"the message at {asked.place}")
            write.catalog = write.catalog.wanting(target)
        if live is not None and live.spec == target:
            write.catalog = replace(write.catalog, last_applied=write.now)
            write.answer(asked, Outcome.UNCHANGED, f"generation {live.number} is live and is just that", live.number)
            return
        waiting = (*write.catalog.pending, asked)
        for older in waiting[:-MOST_PENDING]:
            write.answer(
                older, Outcome.SUPERSEDED, f"superseded by {asked.place} and others that ask for the same", None
            )
        write.catalog = replace(write.catalog, pending=waiting[-MOST_PENDING:])

    def _problems(self, target: Spec) -> list[str]:
        shared = {s.topic for s in target.sources if [o.topic for o in target.sources].count(s.topic) > 1}
        if shared:
            return [
                f"topic '{topic}' is named for more than one source; each needs its own" for topic in sorted(shared)
            ]
        live = self._write.catalog.live_generation
        trusted = {*self._wanted().sources, *(live.spec.sources if live else ())}
        return [
            f"{source.name}Topic: {problem}"
            for source in target.sources
            if source not in trusted
            for problem in self._check(source)
        ]

    def _wanted(self) -> Spec:
        wanted = self._write.catalog.wanted
        assert wanted is not None, "messages are folded only once the settings are in the catalog"
        return wanted


def describe(spec: Spec) -> str:
    """`users from 'raw.users', accounts from 'raw.accounts', left join`."""
    return ", ".join([*(f"{s.name} from '{s.topic}'" for s in spec.sources), f"{spec.join} join"])
