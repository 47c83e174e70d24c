"""What the tables server promises, and the names under which it is measured."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.report import NATIVE, SPARK, Report, Verdict, at_least, at_most, ratio
from benchmarks.sizes import FULL, Sizes

LINE, FROM_CHANGELOG = SPARK, f"{SPARK}, changelog to screen"
VIEWERS, READING, SWITCH, HEAP, PAUSE, OUTAGE = "viewers", "reading", "switch", "heap", "pause", "outage"


def cycle_part(cycle_ms: int) -> str:
    """Ours and native Deephaven's figures stand side by side: at the same cycle."""
    return f"{cycle_ms} ms cycle"


def viewers_name(count: int) -> str:
    return f"{SPARK}, {count} viewer{'s' if count > 1 else ''}"


@dataclass
class TablesReport(Report):
    """Judged by what the tables server promises."""

    sizes: Sizes = FULL

    def verdicts(self) -> list[Verdict]:
        found = []
        for cycle in self.sizes.tables_cycles_ms:
            for name, limit in (("p50", 1.5), ("p99", 2.0)):
                ours, native = (self.find(cycle_part(cycle), system, name) for system in (LINE, NATIVE))
                found.append(at_most(f"{cycle} ms cycle: {name} ÷ native Deephaven", limit, "×", ratio(ours, native)))
        few, *_, many = self.sizes.tables_viewers
        one, all_of_them = (self.find(VIEWERS, viewers_name(count), "p50") for count in (few, many))
        rows = f"{self.sizes.tables_rows:,} rows"
        return [
            *found,
            at_most(f"{many} viewers: p50 ÷ that of {few}", 1.25, "×", ratio(all_of_them, one)),
            at_most(f"switch of {rows}, longest", 100, "ms", self.find(SWITCH, LINE, "longest")),
            at_least(f"reading a changelog of {rows}", 100_000, "rec/s", self.find(READING, LINE, "warm")),
            at_most("heap after the last switch ÷ after five", 1.1, "×", self.find(HEAP, LINE, "growth")),
        ]
