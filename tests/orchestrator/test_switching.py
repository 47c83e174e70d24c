"""Switching on the real broker and Spark: one orchestrator, one session, one message after the other."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pointsman import settings
from pointsman.domain.spec import JoinType
from tests.orchestrator.belongings import Belongings
from tests.orchestrator.line import Line, Pair, Watch, Writer
from tests.pipeline.feed import Sendable, random_feed
from tests.tables.stage import eventually

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NORMAL_SECONDS = 4.0


@pytest.fixture(scope="module")
def line(broker: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Serving two empty topics at first. Every test brings topics of its own, so their order does not matter."""
    loaded = settings.load(
        env={},
        toml=None,
        flags={
            "home": str(tmp_path_factory.mktemp("switching")),
            "kafka": {"bootstrap_servers": broker},
            "topics": {"prefix": "switching."},
            "control": {"topic": "switching-control"},
            "sources": {"users": {"topic": "switching-users"}, "accounts": {"topic": "switching-accounts"}},
            "cutover": {"linger_seconds": 1},
        },
    )
    with Line(loaded, spark) as running:
        running.live()
        yield running


@pytest.fixture
def seed() -> int:
    """Printed, so that a failure can be had again."""
    drawn = random.SystemRandom().randrange(2**32)
    print(f"seed {drawn}")
    return drawn


def endless(seed: int) -> Iterator[Sendable]:
    for part in itertools.count():
        yield from random_feed(seed + part, 100, partitions=1)


def test_from_raw_to_curated_while_both_are_written_to(line: Line, seed: int) -> None:
    raw, curated = line.pair("raw"), line.pair("curated")
    line.feed(raw, random_feed(seed, 300, partitions=1))
    line.feed(curated, random_feed(seed + 1, 3000, partitions=1))
    old = line.switch(raw, "left")
    with Watch(line, old.final) as output, Watch(line, raw.users) as source:
        with Writer(line, [raw, curated], endless(seed + 2), per_second=100):
            eventually(lambda: output.moments and output.moments[-1] - output.moments[0] > NORMAL_SECONDS, seconds=30)
            asked = output.moments[-1]
            new = line.switch(curated, "left")
            published = time.monotonic()
        normal = output.silences(output.moments[0], asked)
        p99, during = normal[int(len(normal) * 0.99)], output.silences(asked, published)[-1]
        noise = source.silences(asked, published)[-1]
    print(f"silences, in ms: normal p99 {p99 * 1000:.0f}, normal longest {normal[-1] * 1000:.0f}")
    print(f"in the {published - asked:.1f} s of the switch {during * 1000:.0f}, of the source {noise * 1000:.0f}")
    assert during <= 2 * p99 + noise + 1.0, "the old generation fell silent while the new one was built"
    assert (new.spec.left.topic, new.number > old.number) == (curated.users, True)
    assert line.comes_to_equal_the_oracle(new)


def test_left_inner_asof_and_left_again_each_equal_the_oracle(line: Line, seed: int) -> None:
    pair = line.pair("joins", partitions=2)
    line.feed(pair, random_feed(seed, 400, partitions=2))
    for number, join in enumerate(("left", "inner", "asof", "left")):
        live = line.switch(pair, join)
        assert live.spec.join is JoinType(join)
        line.feed(pair, random_feed(seed + 1 + number, 20, partitions=2))
        assert line.comes_to_equal_the_oracle(live)


def test_what_cannot_be_done_is_refused_by_name_and_changes_nothing(line: Line) -> None:
    before = line.rests()
    assert before.live_generation is not None
    users = before.live_generation.spec.left.topic
    messages = {
        json.dumps({"joinType": "cross"}): "joinType",
        json.dumps({"usersTopic": users + "x"}): f"did you mean '{users}'",
        '{"usersTopic": ': "JSON",
        "[]": "object",
    }
    offsets = line.send(*(message.encode() for message in messages))
    for offset, reason in zip(offsets, messages.values(), strict=True):
        verdict = line.verdict(offset)
        assert (verdict["verdict"], verdict["generation"]) == ("refused", None)
        assert reason in verdict["reason"]
    after = line.catalog()
    assert (after.live, after.next_number, after.wanted) == (before.live, before.next_number, before.wanted)


def test_what_is_live_already_is_not_built_again(line: Line) -> None:
    before = line.rests()
    live = before.live_generation
    assert live is not None
    topics = {f"{source.name}Topic": source.topic for source in live.spec.sources}
    verdict = line.ask(**topics, joinType=live.spec.join.value)
    assert (verdict["verdict"], verdict["generation"]) == ("unchanged", live.number)
    after = line.catalog()
    assert (after.live, after.next_number) == (before.live, before.next_number)
    assert (after.last_applied or 0) > (before.last_applied or 0)


def test_a_thousand_messages_in_a_second_are_two_builds_at_most_and_a_thousand_verdicts(line: Line, seed: int) -> None:
    one, other = line.pair("flood-one"), line.pair("flood-other")
    for pair in (one, other):
        line.feed(pair, random_feed(seed, 50, partitions=1))
    before = line.rests().next_number
    missing = Pair(one.users + "x", one.accounts)
    wishes = [[one, other, missing][i % 3].wish for i in range(998)]
    last = [{**other.wish, "joinType": "inner"}, {"joinType": "bogus"}]
    offsets = line.send(*(json.dumps(wish).encode() for wish in [*wishes, *last]))
    eventually(line.verdicts, lambda found: set(offsets) <= set(found))
    after = line.rests()
    live = after.live_generation
    assert live is not None
    assert (live.spec.left.topic, live.spec.join) == (other.users, JoinType.INNER)
    assert 1 <= after.next_number - before <= 2
    found = line.verdicts()  # a second one of any message would have come by now
    assert Counter(len(found[offset]) for offset in offsets) == {1: 1000}
    assert [found[offset][0]["verdict"] for offset in offsets[-2:]] == ["applied", "refused"]
    assert line.comes_to_equal_the_oracle(live)


def test_twenty_switches_in_a_row_leave_no_thread_topic_folder_query_or_memory_behind(line: Line, seed: int) -> None:
    pairs = [line.pair("there"), line.pair("back")]
    for pair in pairs:
        line.feed(pair, random_feed(seed, 50, partitions=1))
    before = None
    for count in range(40):
        live = line.switch(pairs[count % 2], "left")
        if count == 19:  # Spark's caches are full by then
            line.rests()
            before = Belongings.of(line)
    line.rests()
    assert before is not None
    kept = before.jvm_threads
    # A shuffle's connections end some seconds after their query.
    after = eventually(lambda: Belongings.of(line), lambda found: not found.jvm_threads - kept)
    print(before, after, sep="\n")
    assert after.python_threads == before.python_threads
    assert after.native_threads <= before.native_threads
    assert len(after.topics) == len(before.topics)
    assert after.folders == {live.checkpoint}
    assert after.queries == {f"g{live.number}-views", f"g{live.number}-join"}
    assert after.heap <= 1.1 * before.heap
    assert after.rss <= 1.1 * before.rss
