"""More partitions, more tasks: latency once warm, how long a cold start takes to get there, what idling costs."""

from __future__ import annotations

import time

from benchmarks.contestants import Spark
from benchmarks.feed import Probes
from benchmarks.figures import last_slow, of_samples, samples, warm_after
from benchmarks.ground import Ground
from benchmarks.report import SPARK, Report
from benchmarks.sight import Sightings
from benchmarks.sizes import Sizes

SECOND_MS = 1000.0
WARM_FACTOR = 2.0  # warm: the median stays within this factor of the one in the end


def measure(ground: Ground, sizes: Sizes, report: Report) -> None:
    for partitions in sizes.partitions:
        _at(ground, sizes, report, partitions)


def _at(ground: Ground, sizes: Sizes, report: Report, partitions: int) -> None:
    """The process starts cold on empty topics; the feed starts as soon as it says that it is ready."""
    plot = ground.plot(f"partitions-{partitions}", partitions)
    spark = Spark(ground, plot, partitions)
    try:
        ready = spark.await_ready(spark.start(1), sizes.patience)["at"]
        assert spark.output is not None
        probes = Probes(plot, sizes.probe_keys)
        with Sightings(plot, spark.output) as sightings:
            began = probes.send(sizes.rate, sizes.partition_seconds)
            sightings.await_all(len(probes.sent), 15)
        time.sleep(2)
        idle = spark.child.cores_used(sizes.idle_seconds)
    finally:
        spark.close()
    all_samples = samples(probes.sent, sightings.seen)
    last = began + sizes.partition_seconds - sizes.partition_counted
    warm = of_samples([s for s in all_samples if s.sent >= last], len(probes.sent) - len(all_samples))
    report.add(
        "partitions",
        f"{SPARK}, {partitions} partitions",
        {
            "p50": (warm.p50, "ms"),
            "p95": (warm.p95, "ms"),
            "p99": (warm.p99, "ms"),
            "max": (warm.max, "ms"),
            "missing": (warm.missing, "records"),
            "process start to ready": (ready - spark.began, "s"),
            "ready to warm": (warm_after(all_samples, began, WARM_FACTOR * warm.p50), "s"),
            "last lag ≥ 1 s": (last_slow(all_samples, began, SECOND_MS), "s"),
            "idle CPU": (idle, "cores"),
        },
    )
    plot.clear()
