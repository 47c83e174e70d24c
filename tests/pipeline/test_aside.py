"""Who goes first: tasks of a generation that is being built work at a low priority, and no others do."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pointsman.domain.spec import Source
from pointsman.pipeline import aside, run
from tests.pipeline.conftest import Bench
from tests.pipeline.feed import Sendable
from tests.tables.stage import eventually

pytestmark = pytest.mark.spark
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a thread")
LOWEST, NORMAL = 1, 5  # as Java counts
TASK = "Executor task"  # how the operating system knows a thread that is at work on one
NICE_FIELD = 16  # of what follows the name in /proc/<process>/task/<thread>/stat


def threads_of_tasks(spark: SparkSession) -> list[tuple[str, int]]:
    """Name and priority of every thread that a small job runs on."""
    told = spark.range(0, 4, 1, 4).selectExpr("java_method('java.lang.Thread', 'currentThread') AS thread")
    found = []
    for row in told.collect():  # like Thread[Executor task launch worker for …,5,main]
        name, priority, _ = row["thread"].rsplit(",", 2)
        found.append((name, int(priority)))
    return found


def test_tasks_step_aside_while_they_are_told_to_and_their_threads_are_not_used_again(spark: SparkSession) -> None:
    assert {priority for _, priority in threads_of_tasks(spark)} == {NORMAL}
    try:
        aside.let_go_first(spark, True)
        assert {priority for _, priority in threads_of_tasks(spark)} == {LOWEST}
    finally:
        aside.let_go_first(spark, False)
    for _ in range(5):
        assert {priority for _, priority in threads_of_tasks(spark)} == {NORMAL}


def threads_of_jvm(spark: SparkSession) -> Iterator[tuple[str, str, int]]:
    """Id, name and nice value of each, as the operating system has them."""
    jvm = spark._jvm
    assert jvm is not None
    for thread in Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/task").iterdir():
        with suppress(OSError):  # it has ended
            name, values = (thread / "stat").read_text().rsplit(")", 1)
            yield thread.name, name, int(values.split()[NICE_FIELD])


@contextmanager
def nice_values_of_tasks(spark: SparkSession) -> Iterator[dict[str, int]]:
    """Thread → nice value, of those at work on tasks at some moment inside `with`."""
    seen: dict[str, int] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            seen.update({thread: nice for thread, name, nice in threads_of_jvm(spark) if TASK in name})

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        over.set()
        looking.join()


@LINUX
def test_nothing_in_the_jvm_is_put_over_what_others_run(spark: SparkSession) -> None:
    """Root's Java would do so with its collector."""
    assert min(nice for _, _, nice in threads_of_jvm(spark)) == os.getpriority(os.PRIO_PROCESS, 0)


def some_users(source: Source) -> Iterator[Sendable]:
    for number in range(2_000):
        yield source.name, None, f"u{number}".encode(), f'{{"userId":"u{number}","age":40}}'.encode(), number


@LINUX
@pytest.mark.broker
def test_only_a_build_beside_something_live_steps_aside_and_only_until_it_has_caught_up(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SMALL", 0)  # so that so few records are caught up with
    b = bench()
    b.make_topics(1)
    b.send(some_users(next(iter(b.settings.spec().sources))))
    with nice_values_of_tasks(b.spark) as first:
        engine = b.run_until_covered(b.generation(1))
    assert set(first.values()) == {0}
    with nice_values_of_tasks(b.spark) as meanwhile:
        b.run_until_covered(b.generation(2), engine)
    assert set(meanwhile.values()) == {0, aside.NICE}
    with nice_values_of_tasks(b.spark) as afterwards:
        b.send(some_users(next(iter(b.settings.spec().sources))))
        b.await_covered(b.generation(2), engine)
    assert set(afterwards.values()) == {0}
    with nice_values_of_tasks(b.spark) as mended:
        next(query for query in b.spark.streams.active if query.name == "g2-join").stop()
        eventually(lambda: engine.progress(2), lambda progress: progress.restarts == 1 and progress.ready)
    assert set(mended.values()) == {0}
