"""What Spark is told, and how many slots there are on a cluster whose executors come one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pointsman.pipeline import session


class Coming:
    """A cluster's session, of which a look sees so many cores, the last number from then on."""

    def __init__(self, *cores: int) -> None:
        self._cores = list(cores)
        self.sparkContext = SimpleNamespace(master="spark://somewhere:7077")

    def look(self, _: Any) -> int:
        return self._cores.pop(0) if len(self._cores) > 1 else self._cores[0]


@pytest.mark.parametrize(("cores", "seen"), [((0, 8, 8, 8, 16), 16), ((0, 8), 8), ((32,), 32)])
def test_executors_are_waited_for_until_there_are_enough_or_time_is_up(
    cores: tuple[int, ...], seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Coming(*cores)
    monkeypatch.setattr(session, "_executor_cores", spark.look)
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.001)
    assert session.available_slots(cast(Any, spark), 10, wait_seconds=0.2) == seen


def test_what_the_settings_tell_spark_replaces_ours_and_is_added_to_it_where_it_is_a_list() -> None:
    ours = {"spark.jars": "a.jar,b.jar", "spark.driver.defaultJavaOptions": "-Da=1", "spark.ui.enabled": "false"}
    told = {"spark.jars": "c.jar", "spark.driver.defaultJavaOptions": "-Da=2", "spark.plugins": "their.Plugin"}
    assert session.together(ours, told | {"spark.ui.enabled": "true"}) == {
        "spark.jars": "a.jar,b.jar,c.jar",
        "spark.driver.defaultJavaOptions": "-Da=1 -Da=2",
        "spark.plugins": "their.Plugin",
        "spark.ui.enabled": "true",
    }
