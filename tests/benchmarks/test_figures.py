from __future__ import annotations

import pytest
from benchmarks.figures import Sample
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import figures


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert [figures.percentile([1, 2, 3, 4], share) for share in (0.25, 0.5, 0.51, 1.0)] == [1, 2, 3, 4]
    assert figures.percentile([7], 0.01) == 7


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_not_exceeded_by_its_share_of_the_values(values: list[float], share: float) -> None:
    found = figures.percentile(sorted(values), share)
    assert sum(v <= found for v in values) >= share * len(values) - 1e-9
    assert sum(v < found for v in values) < share * len(values) + 1e-9


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        figures.percentile([], 0.5)


def test_latency_counts_what_was_sent_after_the_warm_up_and_what_was_never_seen() -> None:
    sent = {0: 0.0, 1: 10.0, 2: 10.1, 3: 10.2}
    seen = {0: 5.0, 1: 10.010, 2: 10.120}
    found = figures.latency(sent, seen, since=10)
    assert (found.count, found.missing) == (2, 1)
    assert found.p50 == pytest.approx(10)
    assert found.max == pytest.approx(20)


def test_latency_of_nothing_seen_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(ValueError, match="none of 1"):
        figures.latency({0: 1.0}, {})


def test_a_stall_is_the_longest_gap_around_its_boundary_and_no_other() -> None:
    seen = [1.0, 1.001, 1.5, 1.501, 20.0, 20.2, 20.21]
    assert figures.stalls(seen, boundaries=[1.4, 20.1], within=1) == pytest.approx([18_499, 18_499])
    assert figures.stalls([*seen, 3.0, 18.0], boundaries=[1.4, 20.1], within=0.5) == pytest.approx([1499, 2000])
    assert figures.stalls([], boundaries=[1.0]) == [0.0]


def test_warm_is_the_end_of_the_last_slow_window() -> None:
    slow, quick = [Sample(100 + n, 90) for n in range(5)], [Sample(105 + n, 9) for n in range(10)]
    assert figures.warm_after([*slow, *quick], start=100, p50_ms=20, window=2) == 4
    assert figures.warm_after([*slow, *quick, Sample(113, 99)], start=100, p50_ms=20, window=2) == 4
    assert figures.warm_after(quick, start=100, p50_ms=20) == 0


def test_the_last_slow_record_is_timed_from_the_start() -> None:
    assert figures.last_slow([Sample(100, 5), Sample(112, 1000), Sample(113, 999)], start=100, slow_ms=1000) == 12
    assert figures.last_slow([Sample(100, 5)], start=100, slow_ms=1000) == 0


def test_spread_is_relative_to_the_smallest() -> None:
    assert figures.spread([10, 11, 12]) == pytest.approx(0.2)


def test_a_silence_lasts_from_one_sighting_to_the_next_or_to_the_end_of_the_span() -> None:
    seen = [0.5, 1.0, 3.0, 3.2, 9.0]
    assert figures.longest_silence(seen, 1.0, 3.2) == pytest.approx(2000)
    assert figures.longest_silence(seen, 2.5, 8.0) == pytest.approx(4800)
    assert figures.longest_silence([], 2.0, 3.0) == pytest.approx(1000)
