"""The final changelog equals the oracle, on a real broker and in real-time mode, for every join type."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from pointsman.domain.generation import Generation
from pointsman.pipeline import run
from pointsman.pipeline.engine import SparkEngine
from tests.pipeline.conftest import Bench
from tests.pipeline.feed import random_feed
from tests.pipeline.oracle import books, final_rows

pytestmark = [pytest.mark.spark, pytest.mark.broker]


@pytest.mark.parametrize("join", ["left", "inner", "natural", "right", "full", "asof"])
def test_final_changelog_equals_the_oracle_before_and_while_it_is_live(
    join: str, bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SMALL", 0)  # what is there is read in a catch-up, however little it is
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
    assert published_counts(b, generation, engine) == books(records, generation.spec)
    views_and_letters_hold_each_record_once(b, generation, len(records))


def views_and_letters_hold_each_record_once(b: Bench, generation: Generation, records: int) -> None:
    letters = b.read([b.settings.names.dead_letters])
    keys = [key for _, _, _, key, _ in letters + b.read(list(generation.views.values()))]
    assert len(keys) == len(set(keys)) == records
    assert {json.loads(value or b"")["reason"] for *_, value in letters} >= {"not-json", "wrong-type", "bad-utf8"}


def published_counts(b: Bench, generation: Generation, engine: SparkEngine) -> dict[tuple[str, int], dict[str, int]]:
    """The newest record per key of the counts topic, once the books are complete and written."""
    running = engine.run(generation.number)
    assert running is not None
    deadline = time.monotonic() + 30
    while True:
        newest: dict[tuple[str, int], dict[str, Any]] = {}
        for *_, value in b.read([b.settings.names.counts]):
            count = json.loads(value or b"")
            newest[count["topic"], count["partition"]] = count
        found = {
            place: {name: count[name] for name in ("read", "joined", "offJoin", "deadLetters")}
            for place, count in newest.items()
        }
        expected = {(str(c["topic"]), int(str(c["partition"]))): c for c in running.books.counts(running.ledger)}
        if running.books.complete and newest == expected:
            return found
        assert time.monotonic() < deadline, (newest, expected)
        time.sleep(0.1)
