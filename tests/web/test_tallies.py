"""Switches as the journal tells them, counted and timed."""

from __future__ import annotations

from pointsman.domain.journal import Code
from pointsman.web.tallies import BUCKETS, Durations, Story


def told(*entries: tuple[Code, int, float]) -> Story:
    story = Story()
    for code, generation, at in entries:
        story.hear({"code": code.value, "generation": generation, "ts": at})
    return story


def seconds(story: Story) -> dict[str, tuple[int, float]]:
    return {phase: (sum(d.counts), d.total) for phase, d in story.phases.items()}


def test_a_switch_has_a_build_a_publish_and_a_whole() -> None:
    story = told((Code.BUILDING, 2, 100), (Code.READY, 2, 107), (Code.PUBLISHED, 2, 107.5), (Code.FREED, 1, 170))
    assert story.results == {"published": 1}
    assert seconds(story) == {"build": (1, 7.0), "publish": (1, 0.5), "whole": (1, 7.5)}


def test_a_rollback_is_a_switch_without_phases() -> None:
    story = told((Code.BUILDING, 1, 0), (Code.READY, 1, 1), (Code.PUBLISHED, 1, 2), (Code.PUBLISHED, 1, 50))
    assert story.results == {"published": 1, "rolled_back": 1}
    assert seconds(story)["whole"] == (1, 2.0)


def test_what_failed_or_was_cancelled_leaves_no_clock_running_for_the_next() -> None:
    story = told((Code.BUILDING, 2, 0), (Code.FAILED, 2, 5), (Code.BUILDING, 3, 10), (Code.CANCELLED, 3, 11))
    assert story.results == {"failed": 1, "cancelled": 1}
    assert seconds(story)["whole"] == (0, 0.0)


def test_entries_that_are_none_of_this_are_passed_over() -> None:
    story = Story()
    for entry in ({}, {"code": "generation.published"}, {"code": 3, "generation": "x", "ts": None}):
        story.hear(entry)
    assert not story.results


def test_each_duration_is_in_the_first_bucket_that_holds_it() -> None:
    durations = Durations()
    for value in (BUCKETS[0], BUCKETS[0] + 0.001, BUCKETS[-1], BUCKETS[-1] + 1):
        durations.add(value)
    assert durations.counts[0] == durations.counts[1] == durations.counts[-2] == durations.counts[-1] == 1
