from __future__ import annotations

import pytest

from pointsman.domain.names import RESERVED_SOURCE_NAMES, TopicNames

NAMES = TopicNames("uat.")
FIXED = (NAMES.catalog, NAMES.status, NAMES.journal, NAMES.verdicts, NAMES.dead_letters, NAMES.tables, NAMES.counts)


def test_every_topic_starts_with_the_prefix_so_that_one_acl_covers_it() -> None:
    assert all(name.startswith("uat.") for name in (*FIXED, NAMES.view(3, "users"), NAMES.final(3)))
    assert len(set(FIXED)) == len(FIXED)


def test_no_source_may_be_named_like_a_topic_of_ours() -> None:
    assert {name.removeprefix("uat.") for name in FIXED} <= RESERVED_SOURCE_NAMES
    assert NAMES.final(3) == NAMES.view(3, "final")  # hence `final` is reserved
    assert "final" in RESERVED_SOURCE_NAMES


@pytest.mark.parametrize(
    ("topic", "number"),
    [
        ("uat.g12.users", 12),
        ("uat.g12.final", 12),
        ("uat.g1.a.b", 1),
        ("uat.catalog", None),
        ("uat.g.users", None),
        ("uat.g1", None),
        ("uat.g1x.users", None),
        ("uatxg1.users", None),  # the dot of the prefix is a dot
        ("prod.uat.g1.users", None),
        ("other.g1.users", None),
    ],
)
def test_a_generation_s_topics_are_told_from_all_others(topic: str, number: int | None) -> None:
    assert NAMES.generation_of(topic) == number


def test_two_prefixes_share_no_generation() -> None:
    assert TopicNames("uat.").generation_of(TopicNames("uat.two.").final(1)) is None
