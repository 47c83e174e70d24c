"""The pause in the output when a real-time batch ends and the next begins."""

from __future__ import annotations

from statistics import median

from benchmarks.contestants import Spark
from benchmarks.feed import Probes
from benchmarks.figures import stalls
from benchmarks.ground import Ground
from benchmarks.report import SPARK, Report
from benchmarks.sight import Sightings
from benchmarks.sizes import Sizes


def measure(ground: Ground, sizes: Sizes, report: Report) -> None:
    """With checkpoints close together, at the latency rate: at each, the longest gap between two output records.

    The first two boundaries find a cold machine and are not counted.
    """
    plot = ground.plot("stall", pipeline={"checkpoint_interval_seconds": sizes.stall_interval})
    spark = Spark(ground, plot)
    try:
        spark.await_ready(spark.start(1), sizes.patience)
        assert spark.output is not None
        probes = Probes(plot, sizes.probe_keys)
        with Sightings(plot, spark.output) as sightings:
            began = probes.send(sizes.rate, (sizes.stall_boundaries + 2.5) * sizes.stall_interval)
            sightings.await_all(len(probes.sent), 10)
        warm = began + 2.5 * sizes.stall_interval
        batches = [e for e in spark.child.events if e["event"] == "batch" and (e["name"] or "").endswith("join")]
        found = stalls(sightings.moments, [e["at"] for e in batches if warm < e["at"] < sightings.moments[-1]])
    finally:
        spark.close()
    report.add(
        "stall",
        SPARK,
        {
            "boundaries": (len(found), ""),
            "median": (median(found) if found else 0.0, "ms"),
            "longest": (max(found, default=0.0), "ms"),
        },
    )
    report.details["stalls ms"] = found
    report.details["batch durations ms"] = [e["durationMs"] for e in batches]
    plot.clear()
