"""The same pipeline on a real standalone cluster: a master and two workers of their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.pipeline.conftest import Bench
from tests.pipeline.feed import random_feed
from tests.pipeline.oracle import final_rows
from tests.pipeline.standalone import standalone
from tests.pipeline.test_crash import live_generation, start_pipeline
from tests.tables.stage import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    with standalone(tmp_path) as running:
        yield running.master


def test_on_a_standalone_cluster_the_final_changelog_equals_the_oracle(
    cluster: str, bench: Callable[..., Bench], tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    b = bench()
    b.make_topics(2)
    b.send(random_feed(seed, 800, partitions=2))
    process = start_pipeline(b, tmp_path, POINTSMAN_SPARK__MASTER=cluster)
    try:
        generation = eventually(lambda: live_generation(b), lambda found: found is not None, 180)
        assert generation is not None
        assert b.final(generation) == final_rows(b.records(), generation.spec)
        b.send(random_feed(seed + 1, 300, partitions=2))
        expected = final_rows(b.records(), generation.spec)
        eventually(lambda: b.final(generation), lambda found: found == expected, 60)
    finally:
        process.stop()
        process.kill()


def test_too_few_slots_are_said_before_anything_starts(bench: Callable[..., Bench], tmp_path: Path) -> None:
    b = bench()
    b.make_topics(3)
    process = start_pipeline(b, tmp_path, POINTSMAN_SPARK__MASTER="local[4]")
    try:
        assert process.process.wait(90) == 1
        assert "real-time mode needs 14 task slots" in process.log
        assert "local[4] has 4" in process.log
        assert 'pipeline.mode = "micro-batch"' in process.log
        assert not list(tmp_path.glob("spark*")), "Spark was started"
    finally:
        process.kill()


def test_with_few_slots_micro_batch_mode_gives_the_same_rows(bench: Callable[..., Bench], tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    b = bench()
    b.make_topics(3)
    b.send(random_feed(seed, 400))
    few = {"POINTSMAN_SPARK__MASTER": "local[2]", "POINTSMAN_PIPELINE__MODE": "micro-batch"}
    process = start_pipeline(b, tmp_path, **few)
    try:
        generation = eventually(lambda: live_generation(b), lambda found: found is not None, 120)
        assert generation is not None
        b.send(random_feed(seed + 1, 200))
        expected = final_rows(b.records(), generation.spec)
        eventually(lambda: b.final(generation), lambda found: found == expected, 60)
    finally:
        process.stop()
        process.kill()
