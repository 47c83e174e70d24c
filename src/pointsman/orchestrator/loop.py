"""The loop: one thread, one tick at a time, each a bounded amount of work. A crash anywhere in it is safe."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from pointsman.domain.catalog import Catalog
from pointsman.domain.control import ControlMessage, Rules
from pointsman.domain.cutover import (
    AwaitCaughtUp,
    BuildGeneration,
    CancelBuild,
    EndLinger,
    FreeGeneration,
    Limits,
    Publish,
    Step,
    ValidateSources,
    plan,
)
from pointsman.domain.errors import FencedOut, NoRoom, PointsmanError, TopicTaken
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Code, Entry, Level
from pointsman.domain.names import TopicNames
from pointsman.domain.progress import Phase
from pointsman.domain.spec import Source, Spec
from pointsman.orchestrator import intake, recovery, writes
from pointsman.orchestrator.cleanup import Cleanup
from pointsman.orchestrator.report import Reporter
from pointsman.orchestrator.waiting import Backoff, Memo, Settling
from pointsman.orchestrator.writes import Write
from pointsman.ports import Ports


@dataclass(frozen=True)
class Pace:
    """How patient the loop is, in seconds."""

    settle: float = 0.3  # no build starts until no message has changed the wish for so long: a flood is one build …
    settle_at_most: float = 2.0  # … unless it goes on for so long
    check_again: float = 1.0  # how long what was found out about a source is believed
    heartbeat: float = 1.0  # between two writes of an unchanged status
    progress_entry: float = 5.0  # between two journal entries about a build's progress


class Orchestrator:
    """`start`, then `tick` again and again. FencedOut ends it: another orchestrator has taken over."""

    def __init__(
        self, ports: Ports, *, settings: Spec, rules: Rules, names: TopicNames, limits: Limits, pace: Pace | None = None
    ) -> None:
        self._ports, self._settings, self._rules, self._names, self._limits = ports, settings, rules, names, limits
        pace = pace or Pace()
        self._catalog = Catalog()
        self._inbox: list[ControlMessage] = []  # read, and not yet in a committed catalog
        self._running: set[int] = set()  # started or resumed by this process
        self._unable: dict[int, str] = {}  # could not be started or resumed, and why
        self._settling = Settling(pace.settle, pace.settle_at_most)
        self._retry = Backoff()
        self._cleanup = Cleanup(ports)
        self._memo = Memo(pace.check_again)
        self._reporter = Reporter(pace.heartbeat, pace.progress_entry)

    @property
    def catalog(self) -> Catalog:
        """As last committed."""
        return self._catalog

    def start(self, now: float) -> None:
        """Takes over: fences out others, resumes what must run, sweeps what no generation owns."""
        found = self._ports.store.load()
        leftovers = self._ports.topics.numbers() | self._ports.checkpoints.numbers()
        write = recovery.taken_over(found, self._settings, leftovers, now)
        self._commit(write)
        self._ports.feed.open(self._catalog.next_control)
        for generation in recovery.to_resume(self._catalog):
            self._resume(generation, now)
        for number in sorted(leftovers - set(self._catalog.generations)):
            problem = self._cleanup.sweep(number)
            if problem:
                self._say(now, Code.TROUBLE, f"leftovers of a lost generation {number} stay: {problem}", number)
            else:
                self._say(now, Code.SWEPT, f"topics and checkpoint of a lost generation {number} are deleted", number)

    def tick(self, now: float) -> None:
        """Reads, plans, performs what can be done now, and reports."""
        in_time = self._catalog.in_time(now, self._limits.linger_seconds)
        if in_time != self._catalog:
            self._commit(Write(in_time, now))
        broken = self._broken()
        self._receive(now, broken)
        for step in plan(self._catalog, now, self._limits, broken):
            if not self._perform(step, now):
                break
        self._reporter.report(self._catalog, self._ports, self._running, self._unable, now)

    def shut_down(self, now: float) -> None:
        """Stops every query. The catalog stays as it is, so the next start resumes them."""
        self._ports.engine.close()
        self._running.clear()
        with contextlib.suppress(PointsmanError):  # fenced out, or no broker: nobody to tell
            self._ports.store.report(None, [Entry(now, Level.INFO, Code.STOPPED.value, "stopped; nothing is lost")])

    # Reading

    def _receive(self, now: float, broken: frozenset[int]) -> None:
        self._inbox += self._ports.feed.poll()
        if not self._inbox:
            return
        write = intake.fold(
            self._catalog,
            self._inbox,
            rules=self._rules,
            limits=self._limits,
            check=lambda source: self._problems(source, now),
            now=now,
            broken=broken,
        )
        before = self._catalog
        self._commit(write)
        self._inbox.clear()
        if self._catalog.pending != before.pending:
            self._retry.clear()  # somebody waits for an answer: a build that failed before is worth trying again
        if self._catalog.wanted != before.wanted:
            self._settling.stir(now)

    def _problems(self, source: Source, now: float) -> Sequence[str]:
        return self._memo.ask(source, now, self._ports.sources.check)

    # Performing: each returns whether the steps after it may be taken in this tick.

    def _perform(self, step: Step, now: float) -> bool:
        match step:
            case CancelBuild():
                return self._cancel(step.number, now)
            case EndLinger():
                return self._end_linger(step, now)
            case FreeGeneration():
                return self._free(step.number, now)
            case ValidateSources():
                return self._validate(step.spec, now)
            case BuildGeneration():
                return self._build(step, now)
            case AwaitCaughtUp():
                return self._await(step.number, now)
            case Publish():
                return self._publish(step.number, now)
            case _:
                assert_never(step)

    def _cancel(self, number: int, now: float) -> bool:
        self._commit(writes.cancelled(self._catalog, self._catalog.generations[number], now))
        return True

    def _end_linger(self, step: EndLinger, now: float) -> bool:
        lingering = self._catalog.generations.get(step.number)
        if step.seconds <= 0 and lingering is not None and lingering.state is State.LINGERING:
            self._commit(writes.linger_ended(self._catalog, lingering, now))
        return True

    def _free(self, number: int, now: float) -> bool:
        leaving = self._catalog.generations.get(number)
        if leaving is not None and leaving.state in (State.FREEING, State.FAILED):
            self._running.discard(number)  # how its queries fare is no news any more
            if self._cleanup.done(leaving, now):
                self._unable.pop(number, None)
                self._commit(writes.freed(self._catalog, leaving, now))
            elif self._cleanup.trouble:
                code, message = self._cleanup.trouble
                self._say(now, code, message, number)
        return True

    def _validate(self, spec: Spec, now: float) -> bool:
        """Holds the build back while messages still come in and while a failed one is not to be tried again."""
        if self._ports.feed.behind() or not self._settling.settled(now) or not self._retry.due(now):
            return False
        problems = [
            f"{source.name}Topic: {problem}" for source in spec.sources for problem in self._problems(source, now)
        ]
        if problems:
            self._commit(writes.refused(self._catalog, problems, now))
            self._retry.fail(now)
            self._settling.rest()
        return not problems

    def _build(self, step: BuildGeneration, now: float) -> bool:
        number = self._catalog.next_number
        generation = Generation(
            number=number,
            state=State.BUILDING,
            spec=step.spec,
            views={source.name: self._names.view(number, source.name) for source in step.spec.sources},
            final=self._names.final(number),
            checkpoint=self._ports.checkpoints.place(number),
            started=now,
        )
        self._settling.rest()
        write = Write(self._catalog.put(generation), now)
        try:
            self._ports.topics.create(generation)
        except TopicTaken:
            # A leftover nobody knows: it must not be read as ours. Its number is burnt, and the next start sweeps it.
            self._commit(Write(replace(self._catalog, next_number=number + 1), now))
            return False
        except FencedOut:
            raise
        except PointsmanError as error:
            self._commit(writes.failed(write.catalog, generation, str(error), now))
            self._retry.fail(now)
            return False
        write.say(Code.BUILDING, f"building generation {number}: {intake.describe(step.spec)}", number)
        self._commit(write)
        return True

    def _await(self, number: int, now: float) -> bool:
        building = self._catalog.generations.get(number)
        if building is None or building.state not in (State.BUILDING, State.READY):
            return False
        if number in self._unable:
            self._fail(building, self._unable[number], now)
            return False
        if number not in self._running and not self._start_queries(building, now):
            return False
        progress = self._ports.engine.progress(number)
        late = now - (building.started or now) > self._limits.build_deadline_seconds
        if progress.phase is Phase.BROKEN:
            self._fail(building, progress.error or "its queries cannot run", now)
        elif progress.ready:
            ready = building if building.state is State.READY else building.move(State.READY)
            write = Write(self._catalog.put(replace(ready, read_to=progress.read_to)), now)
            write.say(Code.READY, f"generation {number} has caught up and runs in real time", number)
            self._commit(write)
        elif late:
            limit = self._limits.build_deadline_seconds
            self._fail(building, f"not ready after {limit:g} s (cutover.build_deadline_seconds)", now)
        return progress.ready and progress.phase is not Phase.BROKEN

    def _publish(self, number: int, now: float) -> bool:
        self._commit(writes.published(self._catalog, number, now, self._limits))
        self._retry.clear()
        return True

    # Helpers of the above

    def _start_queries(self, building: Generation, now: float) -> bool:
        try:
            self._ports.engine.start(building)
        except NoRoom as error:
            oldest = self._catalog.lingering[-1:]
            if oldest:
                self._commit(writes.linger_ended(self._catalog, oldest[0], now))
            elif not self._catalog.in_state(State.FREEING, State.FAILED):
                self._fail(building, str(error), now)
            return False
        except PointsmanError as error:
            self._fail(building, str(error), now)
            return False
        self._running.add(building.number)
        return True

    def _resume(self, generation: Generation, now: float) -> None:
        try:
            self._ports.engine.resume(generation)
        except PointsmanError as error:
            self._unable[generation.number] = str(error)
            self._say(now, Code.BROKEN, f"generation {generation.number} cannot be resumed: {error}", generation.number)
        else:
            self._running.add(generation.number)

    def _fail(self, building: Generation, reason: str, now: float) -> None:
        self._commit(writes.failed(self._catalog, building, reason, now))
        self._retry.fail(now)

    def _broken(self) -> frozenset[int]:
        """The generations that no restart can mend."""
        seen = {n for n in self._running if self._ports.engine.progress(n).phase is Phase.BROKEN}
        return frozenset(seen | set(self._unable))

    def _say(self, now: float, code: Code, message: str, number: int) -> None:
        level = Level.INFO if code is Code.SWEPT else Level.WARN
        self._ports.store.report(None, [Entry(now, level, code.value, message, number)])

    def _commit(self, write: Write) -> None:
        self._ports.store.commit(write.catalog, write.verdicts, write.entries)
        self._catalog = write.catalog
