"""What a process holds: threads, topics, folders, queries, memory. Compared before and after, it tells a leak."""

from __future__ import annotations

import gc
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.orchestrator.line import Line

# Threads of Spark's shared pools come and go with its work; a pool that has grown shrinks after a minute.
POOLS = re.compile(
    r"Executor task launch|task-result-getter|dispatcher|block-manager|ForkJoinPool|-pool-|Cleaner|GC |"
    r"state-store-maintenance|globalEventExecutor"
)


@dataclass(frozen=True)
class Belongings:
    python_threads: Counter[str]
    native_threads: int  # of this process, librdkafka's included
    jvm_threads: Counter[str]  # by name, numbers left out
    topics: frozenset[str]
    folders: frozenset[str]
    queries: frozenset[str]
    heap: int  # bytes in use by the JVM after a collection
    rss: int  # bytes of this process, without the JVM

    @staticmethod
    def of(line: Line) -> Belongings:
        gc.collect()
        here = psutil.Process()
        return Belongings(
            Counter(_plain(thread.name) for thread in threading.enumerate()),
            here.num_threads(),
            Counter(_plain(name) for name in _jvm_thread_names(line) if not POOLS.search(name)),
            frozenset(topic for topic in line.admin.existing() if topic.startswith(line.settings.topics.prefix)),
            frozenset(str(p) for p in Path(line.settings.checkpoints).iterdir()),
            frozenset(str(query.name) for query in line.spark.streams.active),
            _heap(line),
            here.memory_info().rss,
        )


def _heap(line: Line) -> int:
    """What the JVM holds once Spark has let go: it frees what a collection found, so the next one finds more."""
    jvm = line.spark._jvm
    assert jvm is not None
    runtime = jvm.java.lang.Runtime.getRuntime()
    used: list[int] = []
    while len(used) < 6 or min(used[-5:]) < 0.99 * min(used[:-5]):
        jvm.java.lang.System.gc()
        time.sleep(1)
        used.append(runtime.totalMemory() - runtime.freeMemory())
    return min(used)


def _jvm_thread_names(line: Line) -> list[str]:
    jvm = line.spark._jvm
    assert jvm is not None
    return [str(thread.getName()) for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()]


def _plain(name: str) -> str:
    """Without numbers and ids, which differ between threads of one kind."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "#", name)
