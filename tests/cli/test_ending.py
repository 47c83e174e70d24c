"""Asked to end, a process ends: with a broker that answers as soon as its work has, without one at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pointsman.cli.ending import until_asked


@pytest.fixture
def asked() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def answering(seconds: float) -> bool:
    return True


def gone(seconds: float) -> bool:
    return False


def test_work_that_ends_by_itself_is_not_waited_for_any_longer(asked: threading.Event) -> None:
    assert until_asked(lambda: None, asked, gone)


def test_what_the_work_raises_is_raised_to_who_waits(asked: threading.Event) -> None:
    def fenced_out() -> None:
        raise ValueError("fenced out")

    with pytest.raises(ValueError, match="fenced out"):
        until_asked(fenced_out, asked, answering)


def test_with_a_broker_that_answers_the_work_may_end_in_peace(asked: threading.Event) -> None:
    done = []

    def work() -> None:
        asked.wait(10)
        time.sleep(0.2)
        done.append("said goodbye")

    threading.Timer(0.1, asked.set).start()
    assert until_asked(work, asked, answering)
    assert done == ["said goodbye"]


@pytest.mark.parametrize(("answers", "grace"), [(gone, 60.0), (answering, 0.05)])
def test_without_a_broker_or_after_its_grace_the_work_is_left_behind(
    answers: Callable[[float], bool], grace: float, asked: threading.Event
) -> None:
    never = threading.Event()

    def hang() -> None:
        never.wait(20)

    asked.set()
    began = time.monotonic()
    try:
        assert not until_asked(hang, asked, answers, grace)
        assert time.monotonic() - began < 5
    finally:
        never.set()
