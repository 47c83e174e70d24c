from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from benchmarks.child import parse_event
from benchmarks.feed import PROBE, account, user
from benchmarks.pipeline import arguments, chosen_sizes
from benchmarks.report import FLINK, FLINK_QUICK, NATIVE, SPARK, Report, figures_table, shown, verdict_table
from benchmarks.sight import probe_numbers
from benchmarks.sizes import QUICK
from rich.console import Console
from rich.table import Table


def text(table: Table) -> list[str]:
    console = Console(file=StringIO(), width=160)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.fixture
def report() -> Report:
    made = Report({"cores": 2})
    made.add("throughput", SPARK, {"real-time": (45_000, "rec/s")})
    made.add("throughput", FLINK, {"real-time": (50_000, "rec/s")})
    made.add("throughput", FLINK_QUICK, {"real-time": (60_000, "rec/s")})
    made.add("throughput", f"{NATIVE}, 50 ms cycle", {"real-time": (100_000, "rec/s")})
    return made


def test_a_figure_is_compared_with_the_best_of_the_other_systems_variations(report: Report) -> None:
    (row,) = [line for line in text(figures_table(report)) if "45,000" in line]
    assert "0.75" in row
    assert "0.45" in row


def test_a_promise_is_kept_missed_or_not_measured(report: Report) -> None:
    verdicts = {v.promise: v for v in report.verdicts()}
    assert verdicts["all it does, real-time ÷ Flink's join"].kept is False
    assert verdicts["all it does, real-time ÷ native's join"].kept is True
    assert verdicts["latency p50"].kept is None
    lines = text(verdict_table(report))
    assert any("all it does, real-time ÷ Flink" in line and "missed" in line for line in lines)
    assert any("latency p50" in line and "not measured" in line for line in lines)


def test_what_is_saved_is_what_was_measured(report: Report, tmp_path: Path) -> None:
    report.failures["stall: pipeline"] = "it ended"
    report.save(tmp_path / "new" / "run.json")
    saved = json.loads((tmp_path / "new" / "run.json").read_text())
    assert saved["figures"][0] == {
        "part": "throughput",
        "system": SPARK,
        "name": "real-time",
        "value": 45_000,
        "unit": "rec/s",
    }
    assert saved["failures"] == {"stall: pipeline": "it ended"}


@pytest.mark.parametrize(("value", "expected"), [(45123.4, "45,123"), (512.3, "512"), (12.34, "12.3"), (4.5, "4.50")])
def test_figures_have_as_many_digits_as_help(value: float, expected: str) -> None:
    assert shown(value) == expected


def test_a_probe_is_found_in_either_half_of_a_joined_row_and_in_no_other_row() -> None:
    assert probe_numbers(user(1, PROBE + 4)) == [4]
    assert probe_numbers(account(1, PROBE + 5)) == [5]
    assert probe_numbers(b'{"userId":"u1","age":1000000004,"balance":1.000000005E9}') == [4, 5]
    assert probe_numbers(user(1, 89)) == []
    assert probe_numbers(None) == []


def test_only_a_line_that_is_an_event_is_taken_for_one() -> None:
    assert parse_event('{"event": "open", "at": 1}\n') == {"event": "open", "at": 1}
    assert parse_event("# Starting io.deephaven.server\n") is None
    assert parse_event('{"event": "cut') is None


def test_every_size_can_be_given_as_a_flag() -> None:
    sizes = chosen_sizes(arguments(["--quick", "--latency-seconds", "300", "--memory-keys", "1,2"]))
    assert (sizes.latency_seconds, sizes.memory_keys, sizes.keys) == (300, (1, 2), QUICK.keys)
