"""Figures with their targets and ratios: a table for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

SPARK, JOIN_ALONE, MICRO_BATCH = "pointsman", "pointsman, join alone", "micro-batch"
FLINK, FLINK_QUICK = "Flink SQL", "Flink SQL, short buffers"
NATIVE = "native Deephaven"


@dataclass(frozen=True)
class Figure:
    part: str  # latency, throughput, memory, stall, partitions
    system: str  # who was measured, and under which variation
    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Verdict:
    promise: str
    limit: str
    found: float | None  # None: the figures it needs were not taken in this run
    kept: bool | None


@dataclass
class Report:
    """Collects figures of one run. `on_figure` sees each as it comes."""

    machine: dict[str, Any]
    figures: list[Figure] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    on_figure: Callable[[Figure], None] = lambda figure: None

    def add(self, part: str, system: str, values: dict[str, tuple[float, str]]) -> None:
        for name, (value, unit) in values.items():
            figure = Figure(part, system, name, value, unit)
            self.figures.append(figure)
            self.on_figure(figure)

    def find(self, part: str, system: str, name: str) -> float | None:
        for figure in reversed(self.figures):
            if (figure.part, figure.system, figure.name) == (part, system, name):
                return figure.value
        return None

    def best(self, part: str, systems: Iterable[str], name: str) -> float | None:
        """The largest of this figure among systems whose name starts with one of these."""
        starts = tuple(systems)
        found = [f.value for f in self.figures if f.part == part and f.name == name and f.system.startswith(starts)]
        return max(found, default=None)

    def verdicts(self) -> list[Verdict]:
        rate, catch_up = (self.find("throughput", SPARK, name) for name in ("real-time", "catch-up"))
        rate_alone, catch_up_alone = (self.find("throughput", JOIN_ALONE, name) for name in ("real-time", "catch-up"))
        flink = self.best("throughput", [FLINK], "real-time")
        native = self.best("throughput", [NATIVE], "real-time")
        twelve = f"{SPARK}, 12 partitions"
        at_million = f"{SPARK}, 1,000,000 keys"
        return [
            at_most("latency p50", 10, "ms", self.find("latency", SPARK, "p50")),
            at_most("latency p99", 100, "ms", self.find("latency", SPARK, "p99")),
            # The others are asked for the join alone; the pipeline also writes views, dead letters and counts.
            at_least("join alone, real-time ÷ Flink", 0.8, "×", ratio(rate_alone, flink)),
            at_least("join alone, real-time ÷ native Deephaven", 0.3, "×", ratio(rate_alone, native)),
            at_least("join alone, catch-up ÷ Flink", 1.0, "×", ratio(catch_up_alone, flink)),
            at_least("all it does, real-time ÷ Flink's join", 0.8, "×", ratio(rate, flink)),
            at_least("all it does, real-time ÷ native's join", 0.3, "×", ratio(rate, native)),
            at_least("all it does, catch-up ÷ Flink's join", 1.0, "×", ratio(catch_up, flink)),
            at_most("12 partitions, warm p50", 30, "ms", self.find("partitions", twelve, "p50")),
            at_most("12 partitions, warm p99", 150, "ms", self.find("partitions", twelve, "p99")),
            at_most("12 partitions, last lag of 1 s", 30, "s", self.find("partitions", twelve, "last lag ≥ 1 s")),
            at_most("12 partitions, idle", 0.2, "cores", self.find("partitions", twelve, "idle CPU")),
            at_most("boundary stall, longest", 500, "ms", self.find("stall", SPARK, "longest")),
            at_most("memory at 1,000,000 keys", 3.0, "GiB", self.find("memory", at_million, "RSS")),
            at_most("cost per record, spread over key counts", 20, "%", self.find("memory", SPARK, "cost spread")),
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "figures": [asdict(f) for f in self.figures],
            "verdicts": [asdict(v) for v in self.verdicts()],
            "failures": self.failures,
            "details": self.details,
        }

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n")


def ratio(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


def at_most(promise: str, limit: float, unit: str, found: float | None) -> Verdict:
    return Verdict(promise, f"≤ {limit:g} {unit}", found, None if found is None else found <= limit)


def at_least(promise: str, limit: float, unit: str, found: float | None) -> Verdict:
    return Verdict(promise, f"≥ {limit:g} {unit}", found, None if found is None else found >= limit)


def shown(value: float) -> str:
    """Enough digits to compare, and no more."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def figures_table(report: Report) -> Table:
    """Every figure, and beside it its ratio to Flink's and native Deephaven's figure of the same name."""
    table = Table(title="figures of this run", title_justify="left")
    for name in ("part", "system", "figure"):
        table.add_column(name)
    for name in ("value", "÷ Flink", "÷ native"):
        table.add_column(name, justify="right")
    part = system = ""
    for f in report.figures:
        if part and f.part != part:
            table.add_section()
        table.add_row(
            f.part if f.part != part else "",
            f.system if (f.part, f.system) != (part, system) else "",
            f.name,
            f"{shown(f.value)} {f.unit}",
            *(_ratio_text(f, report.best(f.part, [of], f.name), of) for of in (FLINK, NATIVE)),
        )
        part, system = f.part, f.system
    return table


def verdict_table(report: Report) -> Table:
    table = Table(title="promises", title_justify="left")
    table.add_column("promise")
    for name in ("limit", "found"):
        table.add_column(name, justify="right")
    table.add_column("")
    for v in report.verdicts():
        found = "not measured" if v.found is None else shown(v.found)
        table.add_row(v.promise, v.limit, found, {True: "kept", False: "[bold red]missed[/]", None: ""}[v.kept])
    return table


def _ratio_text(figure: Figure, other: float | None, of: str) -> str:
    found = None if figure.system.startswith(of) else ratio(figure.value, other)
    return f"{found:.2f}" if found is not None else ""
