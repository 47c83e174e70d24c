"""Bytes from anyone become a command, or a refusal that names the field, the value and what is allowed."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.domain import control
from pointsman.domain.control import Change, Refusal, Rollback, Rules, read
from pointsman.domain.spec import JoinType

RULES = Rules(("users", "accounts", "cards"), "pointsman.", r"(raw|curated)\..*|users|accounts")


def reading(**fields: object) -> Change | Rollback | Refusal:
    return read(json.dumps(fields).encode(), RULES)


def refusal(**fields: object) -> str:
    answer = reading(**fields)
    assert isinstance(answer, Refusal), answer
    return answer.reason


def test_every_source_has_a_topic_field() -> None:
    assert reading(usersTopic="users", cardsTopic="raw.cards", joinType="inner") == Change(
        {"users": "users", "cards": "raw.cards"}, JoinType.INNER
    )


@pytest.mark.parametrize("value", [None, "", "   "])
def test_missing_null_and_empty_fields_ask_for_nothing(value: str | None) -> None:
    assert reading(usersTopic=value, joinType=value, requestId=value and value.strip()) == Change()


def test_values_are_trimmed() -> None:
    assert reading(usersTopic="  users\n", joinType=" Inner ") == Change({"users": "users"}, JoinType.INNER)


@pytest.mark.parametrize(
    ("text", "join"),
    [
        ("left", JoinType.LEFT),
        ("LEFT_OUTER", JoinType.LEFT),
        ("leftouter", JoinType.LEFT),
        ("left outer join", JoinType.LEFT),
        ("Left-Join", JoinType.LEFT),
        ("inner_join", JoinType.INNER),
        ("INNER", JoinType.INNER),
        ("natural", JoinType.NATURAL),
        ("natural_join", JoinType.NATURAL),
        ("right_outer", JoinType.RIGHT),
        ("full", JoinType.FULL),
        ("full outer", JoinType.FULL),
        ("outer", JoinType.FULL),
        ("asof", JoinType.ASOF),
        ("as_of", JoinType.ASOF),
    ],
)
def test_join_types_have_many_spellings(text: str, join: JoinType) -> None:
    assert control.join_type(text) is join


@pytest.mark.parametrize("text", ["cross", "left_semi", "LeftAnti", "lef", "left;drop", "rightmost", "joinType"])
def test_an_unknown_join_type_is_refused_with_what_is_allowed(text: str) -> None:
    if text == "left;drop":
        assert control.join_type(text) is JoinType.LEFT  # "left…": only the beginning counts
        return
    reason = refusal(joinType=text)
    assert f"joinType: '{text}'" in reason
    assert "left, inner, natural, right, full, asof" in reason


def test_a_near_miss_is_named() -> None:
    assert "did you mean 'inner'?" in refusal(joinType="iner")


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("a,b", "not a topic name"),
        ("a b", "not a topic name"),
        (".", "not a topic name"),
        ("..", "not a topic name"),
        ("x" * 250, "not a topic name"),
        ("üsers", "not a topic name"),
        ("users\n\nx", "not a topic name"),
        ("__consumer_offsets", "Kafka's own"),
        ("pointsman.g1.final", "Pointsman's own"),
        ("secret.payroll", "control.allow_topics"),
        ("xraw.users", "control.allow_topics"),
    ],
)
def test_a_topic_that_may_not_be_named_is_refused(topic: str, why: str) -> None:
    reason = refusal(usersTopic=topic)
    assert reason.startswith("usersTopic: ")
    assert why in reason


@pytest.mark.parametrize("value", [42, True, [], ["users"], {"a": 1}, 1.5])
def test_a_topic_that_is_no_string_is_refused(value: object) -> None:
    assert "usersTopic: " in refusal(usersTopic=value)


def test_unknown_fields_are_ignored_and_named() -> None:
    answer = reading(usersTopic="users", security={"password": "x"}, columns=[])
    assert isinstance(answer, Change)
    assert answer.ignored == ("security", "columns")


def test_a_refusal_still_echoes_the_request() -> None:
    answer = reading(joinType="bogus", requestId=17)
    assert isinstance(answer, Refusal)
    assert answer.request_id == "17"


@pytest.mark.parametrize("value", ["x" * 201, [], True, 1.5])
def test_a_request_id_is_short_text(value: object) -> None:
    assert "requestId" in refusal(requestId=value)


def test_rollback_stands_alone() -> None:
    assert reading(rollback=True, requestId="r") == Rollback("r")
    assert reading(rollback=False, usersTopic="users") == Change({"users": "users"})
    assert reading(rollback=None) == Change()
    assert "rollback" in refusal(rollback=True, usersTopic="users")
    assert "rollback" in refusal(rollback="yes")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "empty"),
        (b"", "empty"),
        (b"  ", "empty"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "an array"),
        (b"null", "null"),
        (b"42", "a number"),
        (b'"users"', "a string"),
        (b"[" * 200_000, "not JSON"),
        (b'{"x":' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_what_is_no_json_object_is_refused_with_why(value: bytes | None, why: str) -> None:
    answer = read(value, RULES)
    assert isinstance(answer, Refusal)
    assert why in answer.reason


def test_a_refusal_is_short_whatever_it_refuses() -> None:
    assert len(refusal(usersTopic="x" * 1_000_000)) < 400
    assert len(refusal(joinType={"k": "x" * 1_000_000})) < 400
    many = reading(**{f"field{i}" * 100: 1 for i in range(1000)})
    assert len(str(many.ignored)) < 4000


# The first draw of text builds a table of all characters, which a busy machine may do slowly.
patient = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@patient
@given(st.binary())
def test_no_bytes_make_it_raise(value: bytes) -> None:
    read(value, RULES)


@patient
@given(
    st.dictionaries(
        st.sampled_from(["usersTopic", "accountsTopic", "joinType", "rollback", "requestId", "other"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(max_size=3), max_size=2),
    )
)
def test_no_object_makes_it_raise_and_no_accepted_topic_breaks_the_rules(fields: dict[str, object]) -> None:
    answer = read(json.dumps(fields).encode(), RULES)
    if isinstance(answer, Change):
        assert all(control.topic_problem(topic, RULES) is None for topic in answer.topics.values())


def test_half_of_a_character_pair_is_answered_in_text_that_can_be_written() -> None:
    assert "no UTF-8 text can hold" in refusal(requestId="\ud800")
    assert "'?'" in refusal(usersTopic="\ud800")
    answer = reading(**{"\ud800": 1})
    assert answer.ignored == ("?",)
