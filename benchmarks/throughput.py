"""Records per second, warm: from a backlog that was fed while the process under measurement was held."""

from __future__ import annotations

import time

from benchmarks.contestants import Contestant, Flink, FlinkTuning, NativeDeephaven, Spark
from benchmarks.feed import drawn, pour, shuffled
from benchmarks.ground import Ground, Plot
from benchmarks.report import JOIN_ALONE, MICRO_BATCH, SPARK, Report
from benchmarks.sizes import Sizes


def measure_pipeline(ground: Ground, sizes: Sizes, report: Report) -> None:
    """A cold catch-up of all keys, a wave in real-time mode, then both again in the warm process."""
    plot = ground.plot("throughput")
    fed = pour(plot, shuffled(sizes.keys, seed=1))
    spark = Spark(ground, plot)
    try:
        cold = _catch_up(spark, fed, 1, sizes)
        fed, rate, cpu = wave(spark, plot, fed, sizes)
        report.add(
            "throughput",
            SPARK,
            {"catch-up, cold": (cold, "rec/s"), "real-time": (rate, "rec/s"), "real-time CPU": (cpu, "µs/rec")},
        )
        spark.stop(1)
        report.add("throughput", SPARK, {"catch-up": (_catch_up(spark, fed, 2, sizes), "rec/s")})
        spark.stop(2)
        alone = _catch_up(spark, fed, 3, sizes, join_alone=True)
        _, rate, cpu = wave(spark, plot, fed, sizes)
        report.add(
            "throughput",
            JOIN_ALONE,
            {"catch-up": (alone, "rec/s"), "real-time": (rate, "rec/s"), "real-time CPU": (cpu, "µs/rec")},
        )
    finally:
        spark.close()
    plot.clear()


def measure_micro_batch(ground: Ground, sizes: Sizes, report: Report) -> None:
    plot = ground.plot("throughput-micro-batch", pipeline={"mode": "micro-batch"})
    fed = pour(plot, shuffled(sizes.keys, seed=1))
    spark = Spark(ground, plot)
    try:
        _catch_up(spark, fed, 1, sizes)
        _, rate, cpu = wave(spark, plot, fed, sizes)
    finally:
        spark.close()
    report.add("throughput", MICRO_BATCH, {"real-time": (rate, "rec/s"), "real-time CPU": (cpu, "µs/rec")})
    plot.clear()


def measure_flink(ground: Ground, sizes: Sizes, report: Report, name: str, tuning: FlinkTuning) -> None:
    plot = ground.plot("throughput-flink")
    fed = pour(plot, shuffled(sizes.keys, seed=1))
    began = time.time()
    flink = Flink(ground, plot, tuning)
    try:
        cold = fed / (flink.drained(fed, sizes.patience) - began)
        _, rate, cpu = wave(flink, plot, fed, sizes)
        memory = flink.child.rss()
    finally:
        flink.close()
    report.add(
        "throughput",
        name,
        {
            "start and read all, cold": (cold, "rec/s"),
            "real-time": (rate, "rec/s"),
            "real-time CPU": (cpu, "µs/rec"),
            "RSS": (memory / 2**30, "GiB"),
        },
    )
    plot.clear()


def measure_native(ground: Ground, sizes: Sizes, report: Report, name: str, cycle_ms: int) -> None:
    plot = ground.plot("throughput-native")
    fed = pour(plot, shuffled(sizes.keys, seed=1))
    native = NativeDeephaven(ground, plot, cycle_ms)
    try:
        native.drained(fed, sizes.patience)
        _, rate, cpu = wave(native, plot, fed, sizes)
        memory = native.child.rss()
    finally:
        native.close()
    report.add(
        "throughput",
        name,
        {"real-time": (rate, "rec/s"), "real-time CPU": (cpu, "µs/rec"), "RSS": (memory / 2**30, "GiB")},
    )
    plot.clear()


def wave(who: Contestant, plot: Plot, fed: int, sizes: Sizes) -> tuple[int, float, float]:
    """Some updates to warm up, then an update of every user and account. Fed in all, records/s, CPU µs per record."""
    fed, _, _ = backlog(who, plot, drawn(sizes.keys, sizes.warm_records // 2, seed=2), fed, sizes)
    return backlog(who, plot, shuffled(sizes.keys, seed=3), fed, sizes)


def backlog(who: Contestant, plot: Plot, keys: list[int], fed: int, sizes: Sizes) -> tuple[int, float, float]:
    """Feeds while the process is held, so that feeding takes no core from it, and lets it go."""
    with who.child.held():
        total = pour(plot, keys, fed)
        cpu = who.child.cpu_seconds()
    began = time.time()
    ended = who.drained(total, sizes.patience)
    cpu = who.child.cpu_seconds() - cpu
    records = total - fed
    return total, records / max(ended - began, 0.001), cpu / records * 1e6


def _catch_up(spark: Spark, fed: int, number: int, sizes: Sizes, join_alone: bool = False) -> float:
    began = time.time()
    since = spark.start(number, join_alone)
    rate = fed / (spark.await_caught_up(since, sizes.patience) - began)
    spark.await_ready(since, sizes.patience)
    return rate
