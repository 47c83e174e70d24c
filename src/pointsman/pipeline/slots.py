"""How many task slots a generation needs, and what its many tasks may cost while idle. Pure arithmetic."""

from __future__ import annotations

import re

from pointsman.domain.errors import PipelineError

LEAST_WAIT_MS, MOST_WAIT_MS = 2, 50
MS_PER_PAIR_AND_CORE = 0.7  # a writer-reader pair flushes on this timer; measured, see docs/decisions
GENEROUS = 4  # generations at once: live, building, two lingering


def needed(source_partitions: int, shuffle_partitions: int) -> int:
    """Real-time mode runs every task of both queries at once: views one per partition, join those and its state's."""
    return 2 * source_partitions + shuffle_partitions


def local_master(source_partitions: int, shuffle_partitions: int) -> str:
    """In local mode a slot is only a thread: enough for every generation that can be alive, and to spare."""
    return f"local[{max(64, 2 * GENEROUS * needed(source_partitions, shuffle_partitions))}]"


def told_by(master: str) -> int | None:
    """How many there will be, where the master's name says so: `local[4]` has four. None: Spark must be asked."""
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    return int(found[1] or 1) if found else None


def check(available: int, source_partitions: int, shuffle_partitions: int, master: str) -> None:
    wanted = needed(source_partitions, shuffle_partitions)
    if available < wanted:
        raise PipelineError(
            f"real-time mode needs {wanted} task slots for one generation ({source_partitions} source partitions, "
            f"read by two queries, and {shuffle_partitions} state partitions); {master} has {available}",
            'add executors or cores, or set pipeline.mode = "micro-batch"',
        )


def shuffle_wait_ms(source_partitions: int, shuffle_partitions: int, cores: int) -> int:
    """Short where few tasks flush, longer where many would keep the cores busy with empty flushes."""
    pairs = source_partitions * shuffle_partitions
    return round(min(MOST_WAIT_MS, max(LEAST_WAIT_MS, MS_PER_PAIR_AND_CORE * pairs / cores)))
