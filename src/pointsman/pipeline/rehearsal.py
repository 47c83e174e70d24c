"""What is yet to come, played through beforehand: Spark does quicker what it has done a few times.

A checkpoint: the join stands still while a batch ends and the next one is planned and begun, 2.6 s in a machine that
has just started, half of that once this was played. And a switch: the next generation's catch-up. The first minute,
when all of it is still slow, is the time for that.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from pointsman.broker import security
from pointsman.broker.security import Role
from pointsman.pipeline import aside, sql
from pointsman.pipeline.queries import Queries

ROUNDS, PAUSE_SECONDS = 10, 2.0
BATCHES, BATCH = 7, "5 seconds"  # no batch may be shorter
PARTS, PART = 5, 40_000  # batches of a catch-up, and the records of each source in one
Played = Callable[[], bool]
Piece = Callable[[Queries], AbstractContextManager[Played]]


@contextlib.contextmanager
def short_batches(queries: Queries) -> Iterator[Played]:
    """A small query whose batches end often runs meanwhile; gives whether enough of them have ended.

    Not where the settings name a master: its slots are counted, and are for generations.
    """
    if queries.settings.spark.master:
        yield lambda: True
        return
    with _stage(queries) as place:
        query = _start(queries, place)
        try:
            yield lambda: _has_ended(query, BATCHES)
        finally:
            query.stop()


@contextlib.contextmanager
def first_parts(queries: Queries) -> Iterator[Played]:
    """The oldest records are caught up with once more, into nothing, and step aside for what is live.

    Not where the settings name a master, as above; nor for a generation that goes without a catch-up.
    """
    if queries.settings.spark.master or not queries.needs_catch_up:
        yield lambda: True
        return
    with _stage(queries) as place, contextlib.ExitStack() as started:
        aside.let_go_first(queries.spark, True)
        started.callback(aside.let_go_first, queries.spark, False)
        running = []
        for name, plan in replace(queries, part=PART).plans.items():
            writer = plan.writeStream.queryName(f"rehearsal-{name}").format("noop").outputMode("update")
            query = writer.option("checkpointLocation", str(place / name)).trigger(availableNow=True).start()
            started.callback(query.stop)
            running.append(query)
        yield lambda: all(_has_ended(query, PARTS) for query in running)


@contextlib.contextmanager
def _stage(queries: Queries) -> Iterator[Path]:
    """A folder for checkpoints that nobody needs."""
    settings = queries.settings
    place = settings.home.absolute() / f"{settings.topics.prefix}rehearsal"
    shutil.rmtree(place, ignore_errors=True)  # of one that was killed
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _has_ended(query: StreamingQuery, batches: int) -> bool:
    """Whether it has, or so many of its batches have."""
    return not query.isActive or bool((query.lastProgress or {"batchId": -1})["batchId"] + 1 >= batches)


def _start(queries: Queries, place: Path) -> StreamingQuery:
    """With state, like the join. It reads our dead letters from now on, of which there are few, and writes nothing."""
    letters, own = queries.settings.names.dead_letters, queries.settings.own_cluster
    client = security.spark_options(own, Role.OWN)
    read = {"subscribe": letters, "groupIdPrefix": f"{own.group_prefix}spark"} | client
    counted = queries.spark.readStream.format("kafka").options(**read).load().groupBy("key").count().where("count < 0")
    writer = (
        counted.selectExpr(f"{sql.text(letters)} AS topic", "key", "CAST(count AS STRING) AS value")
        .writeStream.queryName("rehearsal")
        .format("kafka")
        .outputMode("update")
        .options(checkpointLocation=str(place), **client)
    )
    return writer.trigger(realTime=BATCH).start()  # type: ignore[call-overload,no-any-return]


class Rehearsal:
    """Once for a session, in a thread of its own: later generations find warm what the first has warmed."""

    def __init__(self, checkpoints: Piece = short_batches, switch: Piece = first_parts) -> None:
        self._checkpoints, self._switch = checkpoints, switch
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, queries: Queries, is_ready: Callable[[], bool]) -> None:
        """As soon as the queries are at work. A second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._play, args=(queries, is_ready), name="rehearsal", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _play(self, queries: Queries, is_ready: Callable[[], bool]) -> None:
        while not is_ready():
            if self._over.wait(PAUSE_SECONDS):
                return
        with contextlib.suppress(Exception), self._checkpoints(queries) as played:  # a session that ends meanwhile
            rounds = 0
            while not self._over.wait(PAUSE_SECONDS) and not (rounds >= ROUNDS and played()):
                if rounds < ROUNDS:
                    rounds += 1
                    with contextlib.suppress(Exception):
                        queries.plan_again()
        if self._over.is_set():
            return
        with contextlib.suppress(Exception), self._switch(queries) as played:
            while not self._over.wait(PAUSE_SECONDS) and not played():
                pass
