"""What keys cost: memory of the pipeline process, bytes of state per key, and work per record."""

from __future__ import annotations

from typing import Any

from benchmarks.contestants import Spark
from benchmarks.feed import drawn, pour, shuffled
from benchmarks.figures import spread
from benchmarks.ground import Ground
from benchmarks.report import SPARK, Report
from benchmarks.sizes import Sizes
from benchmarks.throughput import backlog


def measure(ground: Ground, sizes: Sizes, report: Report) -> None:
    costs = [_at(ground, sizes, report, keys) for keys in sizes.memory_keys]
    report.add("memory", SPARK, {"cost spread": (spread(costs) * 100, "%")})


def _at(ground: Ground, sizes: Sizes, report: Report, keys: int) -> float:
    """CPU per record of the second of two equal waves, in microseconds."""
    plot = ground.plot(f"memory-{keys}")
    fed = pour(plot, shuffled(keys, seed=1))
    spark = Spark(ground, plot)
    try:
        spark.await_ready(spark.start(1), sizes.patience)
        state = state_size(spark.child.events)
        fed, _, _ = backlog(spark, plot, drawn(keys, sizes.memory_wave // 2, seed=2), fed, sizes)
        _, rate, cost = backlog(spark, plot, drawn(keys, sizes.memory_wave // 2, seed=3), fed, sizes)
        memory = spark.child.rss()
        disk = sum(f.stat().st_size for f in (plot.folder / "home").rglob("*") if f.is_file())
    finally:
        spark.close()
    report.add(
        "memory",
        f"{SPARK}, {keys:,} keys",
        {
            "RSS": (memory / 2**30, "GiB"),
            "state": (state.get("perRow", 0.0), "B/key"),
            "state in RocksDB": (state.get("total", 0) / keys, "B/key"),
            "checkpoint on disk": (disk / keys, "B/key"),
            "real-time": (rate, "rec/s"),
            "CPU": (cost, "µs/rec"),
        },
    )
    report.details[f"state at {keys} keys"] = state
    plot.clear()
    return cost


def state_size(events: list[dict[str, Any]]) -> dict[str, Any]:
    """From the last batch that reported a state: bytes in memory and in files, bytes per row written, all metrics.

    RocksDB keeps megabytes of buffers however little there is to keep, so few keys look dear in `total`.
    """
    for event in reversed(events):
        operators = event.get("stateOperators") if event.get("event") == "batch" else None
        if operators:
            metrics = operators[0]["customMetrics"]
            total = operators[0]["memoryUsedBytes"] + metrics.get("rocksdbSstFileSize", 0)
            return {
                "total": total,
                "perRow": metrics.get("rocksdbTotalBytesWritten", 0) / max(metrics.get("rocksdbPutCount", 0), 1),
                "rows": operators[0]["numRowsTotal"],
                "memoryUsedBytes": operators[0]["memoryUsedBytes"],
                "metrics": metrics,
            }
    return {}
