from __future__ import annotations

import json

import pytest
from benchmarks.report import NATIVE
from benchmarks.sight import probe_numbers
from benchmarks.tables import MEASURES, main
from benchmarks.tables_crowd import subscription
from benchmarks.tables_line import joined
from benchmarks.tables_promises import HEAP, LINE, SWITCH, VIEWERS, TablesReport, cycle_part, viewers_name


def kept(report: TablesReport) -> dict[str, bool | None]:
    return {verdict.promise: verdict.kept for verdict in report.verdicts()}


def test_latency_is_compared_with_native_deephaven_at_the_same_cycle() -> None:
    report = TablesReport({})
    report.add(cycle_part(50), LINE, {"p50": (40, "ms"), "p99": (130, "ms")})
    report.add(cycle_part(50), NATIVE, {"p50": (30, "ms"), "p99": (60, "ms")})
    report.add(cycle_part(20), NATIVE, {"p50": (1, "ms")})
    found = kept(report)
    assert found["50 ms cycle: p50 ÷ native Deephaven"] is True
    assert found["50 ms cycle: p99 ÷ native Deephaven"] is False
    assert found["20 ms cycle: p50 ÷ native Deephaven"] is None


def test_many_viewers_are_compared_with_one() -> None:
    report = TablesReport({})
    report.add(VIEWERS, viewers_name(1), {"p50": (20, "ms")})
    report.add(VIEWERS, viewers_name(50), {"p50": (26, "ms")})
    assert kept(report)["50 viewers: p50 ÷ that of 1"] is False


def test_the_longest_switch_and_the_growth_of_the_heap_are_judged() -> None:
    report = TablesReport({})
    report.add(SWITCH, LINE, {"median": (50, "ms"), "longest": (99, "ms")})
    report.add(HEAP, LINE, {"growth": (1.2, "×")})
    found = kept(report)
    assert found["switch of 1,000,000 rows, longest"] is True
    assert found["heap after the last switch ÷ after five"] is False


def test_a_row_of_the_changelog_is_one_and_carries_its_number() -> None:
    value = joined("r7", 1_000_000_005, 1_700_000_000_000, version=3)
    assert probe_numbers(value) == [5]
    assert json.loads(value)["_version"] == 3


def test_an_unknown_part_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--parts", "heat"])
    assert "heat" in capsys.readouterr().err
    assert {part for part, *_ in MEASURES} == {"latency", "switch", "heap", "pause", "outage"}


def test_a_viewer_of_the_crowd_asks_for_forty_rows_in_deephavens_own_words() -> None:
    message = subscription(b"a/x", 100)
    assert message[:1] == b"\x1a"
    wrapper = message[2:]
    root = int.from_bytes(wrapper[:4], "little")
    vtable = root - int.from_bytes(wrapper[root : root + 4], "little", signed=True)
    magic_at = root + int.from_bytes(wrapper[vtable + 4 : vtable + 6], "little")
    assert wrapper[magic_at : magic_at + 4] == b"dphn"
    assert b"a/x" in wrapper
