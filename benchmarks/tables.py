"""`make bench-tables`: the promises of the tables server, measured in one run. See docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from benchmarks import tables_line, tables_rows, tables_trouble
from benchmarks.pipeline import Measure, machine, take
from benchmarks.report import NATIVE
from benchmarks.sizes import FULL, QUICK
from benchmarks.tables_promises import HEAP, LINE, OUTAGE, PAUSE, SWITCH, TablesReport

LATENCY = "latency"
MEASURES: list[tuple[str, str, Measure]] = [
    (LATENCY, LINE, tables_line.measure_line),
    (LATENCY, NATIVE, tables_line.measure_native),
    (SWITCH, LINE, tables_rows.measure_reading_and_switching),
    (HEAP, LINE, tables_rows.measure_heap),
    (PAUSE, LINE, tables_trouble.measure_pause),
    (OUTAGE, LINE, tables_trouble.measure_outage),
]
PARTS = tuple(dict.fromkeys(part for part, *_ in MEASURES))


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured, whether promises were kept or not; 1 when something could not be."""
    parser = argparse.ArgumentParser(prog="benchmarks/tables.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything small: to try the code, not for figures")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    args = parser.parse_args(argv)
    sizes = QUICK if args.quick else FULL
    todo = [measure for measure in MEASURES if measure[0] in args.parts]
    report = TablesReport(machine() | {"quick": args.quick}, sizes=sizes)
    return take("tables", todo, sizes, report, Console(width=None if sys.stdout.isatty() else 120))


if __name__ == "__main__":
    sys.exit(main())
