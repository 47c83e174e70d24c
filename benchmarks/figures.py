"""From moments to figures: percentiles, stalls, the time it takes to get warm. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil


@dataclass(frozen=True)
class Latency:
    """Of the records that were seen, in milliseconds. `missing` ones were sent and never seen."""

    count: int
    missing: int
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True)
class Sample:
    """One record: when it was sent, in seconds, and how long it took to be seen, in milliseconds."""

    sent: float
    ms: float


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    if not ordered:
        raise ValueError("no values, no percentile")
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def samples(sent: Mapping[int, float], seen: Mapping[int, float], since: float = 0.0) -> list[Sample]:
    """Of the records sent at or after `since`, in order of sending; those never seen are left out."""
    return [Sample(at, (seen[n] - at) * 1000) for n, at in sorted(sent.items()) if at >= since and n in seen]


def latency(sent: Mapping[int, float], seen: Mapping[int, float], since: float = 0.0) -> Latency:
    counted = samples(sent, seen, since)
    wanted = sum(at >= since for at in sent.values())
    return of_samples(counted, wanted - len(counted))


def of_samples(counted: Sequence[Sample], missing: int = 0) -> Latency:
    ordered = sorted(s.ms for s in counted)
    if not ordered:
        raise ValueError(f"none of {missing} records was seen")
    return Latency(
        len(ordered),
        missing,
        percentile(ordered, 0.50),
        percentile(ordered, 0.95),
        percentile(ordered, 0.99),
        ordered[-1],
    )


def last_slow(counted: Sequence[Sample], start: float, slow_ms: float) -> float:
    """Seconds from `start` to the sending of the last record that took at least `slow_ms`; 0 if none did."""
    return max((s.sent - start for s in counted if s.ms >= slow_ms), default=0.0)


def warm_after(counted: Sequence[Sample], start: float, p50_ms: float, window: float = 2.0) -> float:
    """Seconds from `start` until the median of every later window stays at or below `p50_ms`.

    The end of the last window that was slower; 0 if none was.
    """
    windows: dict[int, list[float]] = {}
    for s in counted:
        windows.setdefault(int((s.sent - start) // window), []).append(s.ms)
    slow = [n for n, ms in windows.items() if percentile(sorted(ms), 0.5) > p50_ms]
    return (max(slow) + 1) * window if slow else 0.0


def stalls(seen: Sequence[float], boundaries: Sequence[float], within: float = 3.0) -> list[float]:
    """For each boundary the longest time, in milliseconds, without a sighting that touches the seconds around it."""
    gaps = list(pairwise(sorted(seen)))
    return [
        max(((b - a) * 1000 for a, b in gaps if b >= at - within and a <= at + within), default=0.0)
        for at in boundaries
    ]


def longest_silence(seen: Sequence[float], start: float, end: float) -> float:
    """The longest time, in milliseconds, without a sighting in this span of time, its ends included."""
    inside = [start, *(at for at in sorted(seen) if start <= at <= end), end]
    return max(b - a for a, b in pairwise(inside)) * 1000


def spread(values: Sequence[float]) -> float:
    """How far the largest is above the smallest, as a share of the smallest."""
    return max(values) / min(values) - 1
