"""The final changelog equals the oracle, on a real broker and in real-time mode, for every join type."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from tests.pipeline.conftest import Bench
from tests.pipeline.feed import random_feed
from tests.pipeline.oracle import books, final_rows

pytestmark = [pytest.mark.spark, pytest.mark.broker]


@pytest.mark.parametrize("join", ["left", "inner", "natural", "right", "full", "asof"])
def test_final_changelog_equals_the_oracle_before_and_while_it_is_live(join: str, bench: Callable[..., Bench]) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    b = bench(join={"type": join})
    b.make_topics(partitions=3)
    b.send(random_feed(seed, 1500))
    generation = b.generation()
    engine = b.run_until_covered(generation)
    assert b.final(generation) == final_rows(b.records(), generation.spec)

    b.send(random_feed(seed + 1, 600, t0=1_700_000_001_000))
    b.await_covered(generation, engine)
    records = b.records()
    assert b.final(generation) == final_rows(records, generation.spec)

    run = engine.run(generation.number)
    assert run is not None
    letters = b.read([b.settings.names.dead_letters])
    views = b.read(generation.views.values())
    keys = [key for _, _, _, key, _ in letters + views]
    assert len(keys) == len(set(keys)) == len(records)
    counted = books(records, generation.spec)
    assert len(letters) == sum(entry["deadLetters"] for entry in counted.values())
    assert {json.loads(value or b"")["reason"] for *_, value in letters} >= {"not-json", "wrong-type", "bad-utf8"}
