"""`make bench`: the pipeline's promises, measured in one run on one machine. See docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from benchmarks import latency, memory, partitions, stall, throughput
from benchmarks.contestants import LARGE_BUFFERS, PEERS, SHORT_BUFFERS
from benchmarks.ground import Ground
from benchmarks.report import FLINK, FLINK_QUICK, NATIVE, Figure, Report, figures_table, shown, verdict_table
from benchmarks.sizes import FULL, QUICK, Sizes

OUTPUT = Path("build/bench")
Measure = Callable[[Ground, Sizes, Report], None]


def measures(sizes: Sizes, peers: bool) -> dict[str, list[tuple[str, Measure]]]:
    """Part → what is measured in it, in order."""
    parts: dict[str, list[tuple[str, Measure]]] = {
        "latency": [
            ("floor", latency.measure_floor),
            ("pipeline", latency.measure_pipeline),
            ("micro-batch", partial(latency.measure_pipeline, mode="micro-batch")),
        ],
        "throughput": [("pipeline", throughput.measure_pipeline), ("micro-batch", throughput.measure_micro_batch)],
        "memory": [("pipeline", memory.measure)],
        "stall": [("pipeline", stall.measure)],
        "partitions": [("pipeline", partitions.measure)],
    }
    for cycle in sizes.native_cycles_ms:
        name = f"{NATIVE}, {cycle} ms cycle"
        parts["latency"].append((name, partial(latency.measure_native, name=name, cycle_ms=cycle)))
        parts["throughput"].append((name, partial(throughput.measure_native, name=name, cycle_ms=cycle)))
    if peers:
        for name, tuning in ((FLINK, LARGE_BUFFERS), (FLINK_QUICK, SHORT_BUFFERS)):
            parts["latency"].append((name, partial(latency.measure_flink, name=name, tuning=tuning)))
            parts["throughput"].append((name, partial(throughput.measure_flink, name=name, tuning=tuning)))
    return parts


def machine() -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "memory GiB": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("pointsman", "pyspark", "deephaven-server", "confluent-kafka")},
        "load before": os.getloadavg()[0],
    }


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/pipeline.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything small: to try the code, not for figures")
    parser.add_argument("--parts", default="", help="comma-separated: latency,throughput,memory,stall,partitions")
    parser.add_argument("--only", default="", help="of those parts, only what has this text in its name")
    parser.add_argument("--peers", choices=("auto", "yes", "no"), default="auto", help="Flink: auto if it is installed")
    for size in fields(Sizes):
        default = getattr(FULL, size.name)
        kind = _numbers if isinstance(default, tuple) else type(default)
        parser.add_argument(f"--{size.name.replace('_', '-')}", type=kind, help=f"default {default}")
    return parser.parse_args(argv)


def chosen_sizes(args: argparse.Namespace) -> Sizes:
    given = {f.name: getattr(args, f.name) for f in fields(Sizes) if getattr(args, f.name) is not None}
    return replace(QUICK if args.quick else FULL, **given)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured, whether promises were kept or not; 1 when something could not be."""
    args = arguments(sys.argv[1:] if argv is None else argv)
    sizes, console = chosen_sizes(args), Console(width=None if sys.stdout.isatty() else 120)
    installed = (PEERS / "venv/bin/python").exists()
    if args.peers == "yes" and not installed:
        console.print(f"Flink is not installed in {PEERS}. Next: make bench-peers", style="red")
        return 1
    parts = measures(sizes, peers=installed and args.peers != "no")
    wanted = [p for p in args.parts.split(",") if p] or list(parts)
    unknown = [p for p in wanted if p not in parts]
    if unknown:
        console.print(f"no part {', '.join(unknown)}; there are {', '.join(parts)}", style="red")
        return 1

    todo = [(part, name, measure) for part in wanted for name, measure in parts[part] if args.only in name]
    return take("pipeline", todo, sizes, Report(machine() | {"quick": args.quick}), console)


def take(what: str, todo: Sequence[tuple[str, str, Measure]], sizes: Sizes, report: Report, console: Console) -> int:
    """Takes these measurements (part, name, how) one after the other, shows and saves them; the exit code."""

    def show(figure: Figure) -> None:
        console.print(f"  {figure.system}: {figure.name} {shown(figure.value)} {figure.unit}", highlight=False)

    report.on_figure = show
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = OUTPUT / f"{what}-{stamp}.json"
    with Ground(OUTPUT / "ground") as ground:
        for part, name, measure in todo:
            began = time.monotonic()
            console.print(f"[bold]{part}[/]: {name}")
            try:
                measure(ground, sizes, report)
            except Exception as error:  # noqa: BLE001 one part that fails must not cost the others
                traceback.print_exc()
                report.failures[f"{part}: {name}"] = f"{type(error).__name__}: {error}"
            console.print(f"  [dim]{time.monotonic() - began:.0f} s[/]")
            report.save(path)
    console.print(figures_table(report), verdict_table(report))
    for where, why in report.failures.items():
        console.print(f"not measured: {where}: {why}", style="red")
    console.print(f"saved as {path}")
    return 1 if report.failures else 0


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
