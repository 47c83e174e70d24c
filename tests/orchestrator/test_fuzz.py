"""Ten thousand control messages from whoever can write to the topic: each is answered, and none is more than names."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.domain.control import topic_problem
from pointsman.domain.generation import Generation
from pointsman.domain.spec import JoinType
from pointsman.domain.verdict import Outcome
from tests.orchestrator.house import RULES, SPEC, House

MESSAGES = 50
BATCHES = 200
OWN_TOPIC = re.compile(r"pointsman\.g\d+\.(users|accounts|final)")
HOSTILE = [
    "../../etc/passwd",
    "$(touch x)",
    "`id`",
    "users; rm -rf /",
    "${env:HOME}",
    "users,accounts",
    "users\nsasl.jaas.config=x",
    "users' as topic, 'x",
    "pointsman.catalog",
    "__consumer_offsets",
    "file:///etc/passwd",
    "<script>alert(1)</script>",
    "%s%n%x",
    "..",
    "users\x00",
    "\ud800",
    "u" * 300,
    "users",
    "raw.users",
    "accounts",
    "raw.accounts",
    "curated.users",
    "nothing.there",
    "left_outer",
    "inner",
    "leftanti",
    "asof",
]
NAMES = ["usersTopic", "accountsTopic", "joinType", "rollback", "requestId"]
PROPERTIES = ["bootstrap.servers", "kafka.sasl.jaas.config", "checkpointLocation", "columns", "__class__", "\udfff"]
values = st.one_of(
    st.sampled_from(HOSTILE),
    st.sampled_from(HOSTILE),
    st.text(max_size=20),
    st.none() | st.booleans() | st.integers() | st.floats(),
    st.lists(st.text(max_size=3), max_size=2),
)
objects = st.dictionaries(st.sampled_from(NAMES + PROPERTIES) | st.text(max_size=10), values, max_size=5)
messages = st.one_of(objects.map(json.dumps), objects.map(json.dumps), st.binary(max_size=40), st.none())


def check_names(generation: Generation) -> None:
    """Topics by the rules, a join that we know, and whatever else a generation is made of from its number alone."""
    for source, given_by_settings in zip(generation.spec.sources, SPEC.sources, strict=True):
        assert topic_problem(source.topic, RULES) is None
        assert (source.name, source.columns, source.start) == (
            given_by_settings.name,
            given_by_settings.columns,
            given_by_settings.start,
        )
    assert generation.spec.join in JoinType
    assert all(OWN_TOPIC.fullmatch(topic) for topic in generation.topics)
    assert generation.checkpoint == f"memory:g{generation.number}"


@settings(max_examples=BATCHES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(messages, min_size=MESSAGES, max_size=MESSAGES))
def test_each_message_is_answered_once_and_nothing_in_it_becomes_a_property_a_path_or_code(
    batch: list[str | bytes | None],
) -> None:
    house = House().serving()
    offsets = []
    for number, message in enumerate(batch):
        offsets.append(house.world.send(message))
        if number % 10 == 9:
            house.later()
    for _ in range(MESSAGES):
        house.later()
        for generation in house.catalog.generations.values():
            check_names(generation)
        if house.catalog.building is not None:
            house.catch_up()
        if not house.catalog.pending:
            break
    for offset in offsets:
        assert isinstance(house.outcome(offset), Outcome)
        # As it is written to its topic, for whoever reads it as UTF-8.
        assert len(json.dumps(house.verdict(offset).to_json(), ensure_ascii=False).encode()) < 10_000
    assert house.catalog.to_bytes()
