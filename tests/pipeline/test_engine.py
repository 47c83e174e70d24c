"""What the engine refuses before it starts anything, and how it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from pointsman.broker.topics import TopicPlan
from pointsman.domain.errors import NoRoom, PipelineError
from pointsman.domain.progress import Phase
from pointsman.domain.spec import JoinType
from tests.pipeline.conftest import Bench
from tests.tables.stage import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def test_a_build_that_cannot_get_all_its_slots_is_refused_with_the_numbers(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    b.admin.ensure([TopicPlan(b.settings.sources["users"].topic + ".wide", 200)])
    sources = b.settings.model_dump(mode="json")["sources"]
    sources["users"]["topic"] += ".wide"
    wide = bench(sources=sources)
    engine = wide.engine()
    with pytest.raises(NoRoom, match="needs 404 task slots"):
        engine.start(wide.generation())
    assert engine.progress(1).phase is Phase.DOWN


def test_asof_is_refused_in_micro_batch_mode(bench: Callable[..., Bench]) -> None:
    b = bench(pipeline={"mode": "micro-batch"})
    b.make_topics(1)
    generation = b.generation()
    asof = replace(generation, spec=generation.spec.with_overrides({}, JoinType.ASOF))
    with pytest.raises(PipelineError, match="real-time mode only"):
        b.engine().start(asof)


def test_stop_returns_at_once_and_says_when_no_query_runs_any_more(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.make_topics(1)
    engine = b.run_until_covered(b.generation())

    def running() -> set[str]:
        return {query.name for query in b.spark.streams.active} & {"g1-views", "g1-join"}

    assert len(running()) == 2
    began = time.monotonic()
    assert not engine.stop(1)
    assert time.monotonic() - began < 0.1
    eventually(lambda: engine.stop(1))
    assert not running()
    assert engine.progress(1).phase is Phase.DOWN
