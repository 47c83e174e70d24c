"""Kafka → joined row, record by record, at a steady rate."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.contestants import Contestant, Flink, FlinkTuning, NativeDeephaven, Spark
from benchmarks.feed import Probes
from benchmarks.figures import Latency, latency
from benchmarks.ground import Ground, Plot
from benchmarks.report import MICRO_BATCH, SPARK, Report
from benchmarks.sight import Sightings, floor
from benchmarks.sizes import Sizes


def measure_floor(ground: Ground, sizes: Sizes, report: Report) -> None:
    plot = ground.plot("floor")
    add(report, "the reader's own floor", floor(plot, sizes.rate, sizes.peer_warm_up, sizes.floor_seconds))
    plot.clear()


def measure_pipeline(ground: Ground, sizes: Sizes, report: Report, mode: str = "real-time") -> None:
    """At the default checkpoint interval, so a boundary falls into five minutes."""
    plot = ground.plot(f"latency-{mode}", pipeline={"mode": mode})
    spark = Spark(ground, plot)
    try:
        spark.await_ready(spark.start(1), sizes.patience)
        long = mode == "real-time"
        warm_up, seconds = (
            (sizes.latency_warm_up, sizes.latency_seconds) if long else (sizes.peer_warm_up, sizes.peer_seconds)
        )
        found = on_topic(spark, plot, sizes, warm_up, seconds)
        cores = spark.child.cores_used(sizes.idle_seconds)
    finally:
        spark.close()
    system = SPARK if long else MICRO_BATCH
    add(report, system, found)
    report.add("latency", system, {"idle CPU": (cores, "cores")})
    plot.clear()


def measure_flink(ground: Ground, sizes: Sizes, report: Report, name: str, tuning: FlinkTuning) -> None:
    plot = ground.plot("latency-flink")
    flink = Flink(ground, plot, tuning)
    try:
        add(report, name, on_topic(flink, plot, sizes, sizes.peer_warm_up, sizes.peer_seconds))
    finally:
        flink.close()
    plot.clear()


def measure_native(ground: Ground, sizes: Sizes, report: Report, name: str, cycle_ms: int) -> None:
    plot = ground.plot("latency-native")
    native = NativeDeephaven(ground, plot, cycle_ms)
    try:
        native.probe()
        probes = Probes(plot, sizes.probe_keys)
        began = probes.send(sizes.rate, sizes.peer_warm_up + sizes.peer_seconds)
        native.drained(len(probes.sent), sizes.patience)
        add(report, name, latency(probes.sent, native.seen(), since=began + sizes.peer_warm_up))
    finally:
        native.close()
    plot.clear()


def on_topic(who: Contestant, plot: Plot, sizes: Sizes, warm_up: float, seconds: float) -> Latency:
    assert who.output is not None
    probes = Probes(plot, sizes.probe_keys)
    with Sightings(plot, who.output) as sightings:
        began = probes.send(sizes.rate, warm_up + seconds)
        sightings.await_all(len(probes.sent), 10)
    return latency(probes.sent, sightings.seen, since=began + warm_up)


def add(report: Report, system: str, found: Latency) -> None:
    units = {"count": "records", "missing": "records"}
    report.add("latency", system, {name: (value, units.get(name, "ms")) for name, value in asdict(found).items()})
