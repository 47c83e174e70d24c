"""One generation at work: catch up, go real-time, say how far it is, and get up again when a query dies."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from pointsman.broker.tail import Tail, holds_records
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.generation import State
from pointsman.domain.progress import Phase, Progress
from pointsman.pipeline.books import Books
from pointsman.pipeline.faults import beyond_repair, explained, sentence
from pointsman.pipeline.ledger import Ledger
from pointsman.pipeline.queries import NAMES, Pace, Queries

log = logging.getLogger(__name__)
SMALL = 20_000  # records left that real-time mode takes over without a visible delay
MOST_PASSES = 5
BACKOFF_SECONDS = (0.5, 1, 2, 5, 10, 30)
STALLED_SECONDS = 1.0
Ends = Mapping[str, Mapping[int, int]]  # source or topic → partition → offset


class Stopped(Exception):
    """Asked to stop: not an error."""


class GenerationRun:
    """Runs in a thread of its own from `start()` until, after `stop()`, it has `stopped`. `progress()` never blocks."""

    def __init__(self, queries: Queries, admin: TopicAdmin, others: Callable[[], bool]) -> None:
        """`others` tells whether another generation serves: a build steps aside for it."""
        self.generation = queries.generation
        self.ledger = Ledger(queries.generation)
        self._queries = queries
        self._admin = admin
        self._settings = queries.settings
        self._running: dict[str, StreamingQuery] = {}
        self._asked = threading.Event()
        self._progress = Progress(Phase.CATCHING_UP)
        self._thread = threading.Thread(target=self._supervise, name=f"g{self.generation.number}", daemon=True)
        self._restarts, self._fault = 0, ""
        self._building, self._others = queries.generation.state is State.BUILDING, others
        self.books = Books(queries.settings, queries.generation)

    def start(self) -> None:
        self._thread.start()

    def progress(self) -> Progress:
        return self._progress

    def stop(self) -> None:
        """Asks it to end, and returns at once."""
        self._asked.set()

    @property
    def stopped(self) -> bool:
        """Whether it has ended: no query runs, and none will."""
        return not self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Waits until it has stopped, no longer than this."""
        self._thread.join(seconds)

    def _supervise(self) -> None:
        try:
            self._keep_running()
        finally:
            self._end_queries()
            self.books.close()

    def _keep_running(self) -> None:
        failures = 0
        while not self._asked.is_set():
            began = time.monotonic()
            try:
                self._run_once()
            except Stopped:
                break
            except Exception as error:  # noqa: BLE001 whatever a query dies of, it is said and tried again
                failures = 1 if time.monotonic() - began > 120 else failures + 1
                self._restarts += 1
                mendable = not beyond_repair(error)
                if mendable:
                    self._say_down(error)  # before they end, which takes its time where a broker lets nobody in
                self._end_queries()
                if self._asked.is_set():
                    break
                if not mendable:
                    self._say(Phase.BROKEN, error=sentence(error))
                    return
                self._asked.wait(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS)) - 1])

    def _say_down(self, error: Exception) -> None:
        """Also to the log: where the broker does not let us in, nobody can be told by a topic."""
        if self._asked.is_set():
            return
        self._fault = explained(error, (self._settings.kafka, self._settings.own_cluster))
        log.warning("generation %d is down, and is started again: %s", self.generation.number, self._fault)
        self._say(Phase.DOWN, error=self._fault)

    def _run_once(self) -> None:
        changelogs = (*self._counted(), self.generation.final)
        base = self._catch_up() if self._is_to_catch_up() else {}
        starts = self._admin.end_offsets(changelogs) if base or self._unseen else self._admin.start_offsets(changelogs)
        self.ledger = Ledger(self.generation)
        for name in NAMES:
            for source, offsets in base.get(name, self._queries.starts).items():
                for partition, offset in offsets.items():
                    entry = self.ledger.at(source, partition)
                    if name == "views":
                        entry.next_view = offset
                    else:
                        entry.next_joined = offset
        for name in NAMES:
            self._running[name] = self._queries.start(name, Pace.LIVE)
        with Tail(self._settings.own_cluster, starts, unhurried=True) as tail:
            self._follow(tail, starts)

    @property
    def _unseen(self) -> bool:
        """Whether nothing of this generation is in any changelog yet."""
        return self._queries.is_new and not self._restarts

    def _is_to_catch_up(self) -> bool:
        """A new generation with little to read goes real-time at once: that reads it as fast, and is one start less.

        One that may have been seen catches up, however little it is: replayed record by record, its rows would go back.
        """
        if not self._queries.needs_catch_up:
            return False
        return not self._unseen or _behind(self._queries.starts, self._source_ends()) > SMALL

    def _catch_up(self) -> dict[str, Ends]:
        """Reads all there is, again while much has come meanwhile; returns how far each query has read.

        The join ends no earlier than the views: what it has answered beyond them needs no second look.
        """
        read: dict[str, Ends] = {}
        for _ in range(MOST_PASSES):
            before = self._source_ends()
            read = self._pass(NAMES, before)
            after = self._source_ends()
            if _behind(read["views"], after) <= SMALL:
                break
        if _behind(read["join"], read["views"]) > 0:
            read |= self._pass(("join",), read["views"])
        return read

    def _pass(self, names: tuple[str, ...], before: Ends) -> dict[str, Ends]:
        written = self._written()
        total = _behind(self._queries.starts, before)
        began, first = time.monotonic(), written
        steps_aside = self._building and self._others()
        for name in names:
            self._running[name] = self._queries.start(name, Pace.CATCH_UP, steps_aside)
        while any(self._running[name].isActive for name in names):
            self._pause(0.25)
            written = self._written()
            rate = (written - first) / max(time.monotonic() - began, 0.1)
            self._say(Phase.CATCHING_UP, done=min(written, total), total=total, rate=rate)
        for name in names:
            if problem := self._running[name].exception():
                raise problem
        return {name: self._read_by(self._running[name], before) for name in names}

    def _follow(self, tail: Tail, starts: Ends) -> None:
        """Real time: folds what the queries write, until asked to stop or one of them dies."""
        gate: Ends = {}
        read_to: Ends = {}
        ready = False
        folded, rate, since = 0, 0.0, time.monotonic()
        moved, checked = time.monotonic(), 0.0
        while True:
            self._pause(0)
            seen = 0
            for topic, _, _, key, value in tail.poll(0.1):
                self.ledger.fold_safely(topic, key, value)
                seen += topic != self.generation.final
            folded += seen
            now = time.monotonic()
            if seen:
                moved = now
            if now - checked < 0.2:
                continue
            checked = now
            for query in self._running.values():
                if not query.isActive:
                    raise query.exception() or RuntimeError(f"query {query.name} ended by itself")
            if now - since >= 2:
                rate, folded, since = folded / (now - since), 0, now
            ends = self._source_ends()
            if self._queries.settings.pipeline.mode == "micro-batch":
                self._take_answers_of_batches()
            if not gate and all(self._queries.at_work(query) for query in self._running.values()):
                gate = ends
            if now - moved > STALLED_SECONDS:
                self._skip_markers(ends)
                moved = now
            if gate and not ready and self.ledger.covers(gate):
                ready, self._building = True, False
                read_to = self._admin.end_offsets(self.generation.topics)
                self.books.count_past(
                    self._admin.start_offsets(self._counted()), {t: starts[t] for t in self._counted()}
                )
            if ready:
                self.books.publish(self.ledger, now)
            lags = self.ledger.lags(ends)
            lag = sum(lags.values())
            self._say(
                Phase.REAL_TIME,
                ready=ready,
                read_to=read_to,
                lag=lag,
                lags=lags,
                freshness=self._freshness(lag),
                rate=rate,
            )

    def _take_answers_of_batches(self) -> None:
        """A micro-batch folds the records of a key into one row, which names only one of them: its report tells all."""
        for source, offsets in self._read_by(self._running["join"], {}).items():
            for partition, offset in offsets.items():
                entry = self.ledger.at(source, partition)
                entry.next_joined = max(entry.next_joined, offset)

    def _skip_markers(self, ends: Ends) -> None:
        """Offsets that hold no record (transaction markers) would look like lag for ever.

        For a moment only: where nobody answers, the queries must be looked at, too.
        """
        topics = {s.name: s.topic for s in self.generation.spec.sources}
        until = time.monotonic() + STALLED_SECONDS
        for source, offsets in ends.items():
            for partition, end in offsets.items():
                if time.monotonic() > until:
                    return
                entry = self.ledger.at(source, partition)
                kafka = self._settings.kafka
                if entry.next < end and not holds_records(kafka, topics[source], partition, entry.next, end):
                    entry.next_view = end

    def _freshness(self, lag: int) -> float:
        newest = max((entry.newest_ts for entry in self.ledger.partitions.values()), default=0)
        return 0.0 if lag == 0 or not newest else max(0.0, time.time() - newest / 1000)

    def _source_ends(self) -> dict[str, dict[int, int]]:
        sources = self.generation.spec.sources
        ends = self._admin.end_offsets({s.topic for s in sources}, often=True)
        return {s.name: ends[s.topic] for s in sources}

    def _counted(self) -> tuple[str, ...]:
        return (*self.generation.views.values(), self._queries.settings.names.dead_letters)

    def _written(self) -> int:
        ends = self._admin.end_offsets(self.generation.views.values(), often=True)
        return sum(offset for offsets in ends.values() for offset in offsets.values())

    def _read_by(self, query: StreamingQuery, otherwise: Ends) -> Ends:
        """How far a finished pass has read; where it found nothing to read, what was there before it."""
        progress: Any = query.lastProgress
        if not progress:
            return otherwise
        found: dict[str, dict[int, int]] = {}
        for source in progress["sources"]:
            for topic, offsets in _offsets(source["endOffset"]).items():
                for s in self.generation.spec.sources:
                    if s.topic == topic:
                        found[s.name] = {int(p): int(o) for p, o in offsets.items()}
        return {s.name: found.get(s.name, otherwise.get(s.name, {})) for s in self.generation.spec.sources}

    def _say(self, phase: Phase, **what: Any) -> None:
        self._progress = Progress(phase, restarts=self._restarts, fault=self._fault, **what)

    def _pause(self, seconds: float) -> None:
        if self._asked.wait(seconds):
            raise Stopped

    def _end_queries(self) -> None:
        for query in self._running.values():
            with contextlib.suppress(Exception):  # it is gone either way
                query.stop()


def _behind(read: Ends, ends: Ends) -> int:
    return sum(
        max(0, end - read.get(source, {}).get(partition, 0))
        for source, offsets in ends.items()
        for partition, end in offsets.items()
    )


def _offsets(value: Any) -> dict[str, dict[str, int]]:
    """A progress report gives offsets as an object or as its JSON text."""
    parsed = json.loads(value) if isinstance(value, str) else value
    return parsed or {}
