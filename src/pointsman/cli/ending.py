"""Ending in time: a broker that is gone must not hold up a process that was asked to end."""

from __future__ import annotations

import threading
from collections.abc import Callable

LOOK_SECONDS = 0.1
ANSWER_SECONDS = 3.0  # a broker that says nothing for so long is taken for gone
GRACE_SECONDS = 60.0  # with a broker that answers, queries may take their time to end


def until_asked(
    work: Callable[[], None],
    asked: threading.Event,
    broker_answers: Callable[[float], bool],
    grace_seconds: float = GRACE_SECONDS,
) -> bool:
    """Does the work until it ends, which it should soon after `asked` is set; raises what it raises.

    It runs in a thread of its own, so that this one hears signals whatever the work waits for. False: it was asked to
    end and has not, because the broker does not answer or the grace is over; it still runs, and is to be left behind.
    """
    ended = threading.Event()
    raised: list[BaseException] = []

    def attempt() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 it is raised again, in the thread that called us
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=attempt, name="work", daemon=True).start()
    while not ended.wait(LOOK_SECONDS) and not asked.is_set():
        pass
    if not ended.is_set() and not (broker_answers(ANSWER_SECONDS) and ended.wait(grace_seconds)):
        return False
    if raised:
        raise raised[0]
    return True
