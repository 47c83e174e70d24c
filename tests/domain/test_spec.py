from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.domain.spec import Column, ColumnType, JoinType, Source, Spec

ID = Column("userId", ColumnType.STRING)
NAME, SINCE = Column("name", ColumnType.STRING), Column("since", ColumnType.LONG)
USERS = Source("users", "users", (ID, NAME, SINCE))
ACCOUNTS = Source("accounts", "accounts", (ID, Column("balance", ColumnType.DOUBLE)))
CARDS = Source("cards", "cards", (ID, NAME), start=1769846400000)
SPEC = Spec((USERS, ACCOUNTS), "userId", JoinType.LEFT)

sources = st.lists(
    st.builds(
        Source,
        name=st.from_regex(r"[a-z]{1,4}", fullmatch=True),
        topic=st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True),
        columns=st.lists(
            st.builds(Column, st.from_regex(r"[A-Z]{3,5}", fullmatch=True), st.sampled_from(ColumnType)),
            unique_by=lambda c: c.name,
            max_size=4,
        ).map(lambda columns: (ID, *columns)),
        start=st.one_of(st.sampled_from(["earliest", "latest"]), st.integers(0, 2**53)),
    ),
    unique_by=lambda s: s.name,
    min_size=2,
    max_size=4,
)
specs = st.builds(
    Spec, sources.map(tuple), st.just("userId"), st.sampled_from(JoinType), asof_history=st.integers(1, 10_000)
)


class TestFingerprint:
    def test_it_is_the_same_in_every_version(self) -> None:
        """It is in catalogs that are out there: a change of it would rebuild everybody's generation."""
        assert SPEC.fingerprint == "a5f1866ba1a24dae"

    @given(specs)
    def test_it_survives_the_json_form(self, spec: Spec) -> None:
        again = Spec.from_json(json.loads(json.dumps(spec.to_json())))
        assert again == spec
        assert again.fingerprint == spec.fingerprint

    @given(specs, specs)
    def test_it_tells_specs_apart(self, one: Spec, other: Spec) -> None:
        assert (one.fingerprint == other.fingerprint) == (one == other)

    @pytest.mark.parametrize(
        "other",
        [
            replace(SPEC, join=JoinType.NATURAL),
            replace(SPEC, sources=(ACCOUNTS, USERS)),
            replace(SPEC, sources=(USERS, replace(ACCOUNTS, topic="accounts2"))),
            replace(SPEC, sources=(USERS, replace(ACCOUNTS, start="latest"))),
            replace(SPEC, asof_history=65),
        ],
    )
    def test_whatever_changes_the_result_changes_it(self, other: Spec) -> None:
        assert other.fingerprint != SPEC.fingerprint


class TestOutput:
    @pytest.mark.parametrize("join", JoinType)
    def test_columns_are_key_left_right_for_every_join_type(self, join: JoinType) -> None:
        spec = replace(SPEC, join=join)
        assert [c.name for c in spec.output_columns] == ["userId", "name", "since", "balance"]
        assert [c.type for c in spec.output_columns] == ["string", "string", "long", "double"]

    def test_a_name_that_two_sources_share_is_told_apart_by_the_source(self) -> None:
        spec = replace(SPEC, sources=(USERS, ACCOUNTS, CARDS))
        assert [c.name for c in spec.output_columns] == ["userId", "users_name", "since", "balance", "cards_name"]

    def test_upper_case_does_not_tell_two_names_apart(self) -> None:
        cards = replace(CARDS, columns=(ID, Column("Name", ColumnType.LONG)))
        spec = replace(SPEC, sources=(USERS, cards))
        assert [c.name for c in spec.output_columns] == ["userId", "users_name", "since", "cards_Name"]

    @given(specs)
    def test_no_two_columns_have_one_name(self, spec: Spec) -> None:
        names = [c.name.casefold() for c in spec.output_columns]
        assert len(set(names)) == len(names)


class TestWhatASpecRefuses:
    @pytest.mark.parametrize(
        ("sources", "sentence"),
        [
            ((USERS,), "at least two sources"),
            ((USERS, replace(ACCOUNTS, name="users")), "source names must differ: users, users"),
            ((USERS, replace(ACCOUNTS, columns=(NAME,))), "source 'accounts' needs the key 'userId'"),
            (
                (USERS, replace(ACCOUNTS, columns=(Column("userId", ColumnType.LONG),))),
                "source 'accounts' needs the key 'userId'",
            ),
            (
                (replace(USERS, columns=(Column("userId", ColumnType.DOUBLE),)), ACCOUNTS),
                "must be the first column and a string or a long",
            ),
            (
                (USERS, replace(ACCOUNTS, columns=(ID, Column("userid", ColumnType.LONG)))),
                "source 'accounts' would have two columns of one name: 'userId' and 'userid'",
            ),
            (
                (USERS, replace(CARDS, columns=(ID, NAME, Column("users_name", ColumnType.LONG)))),
                "the joined row would have two columns of one name: 'users_name' and 'users_name'",
            ),
        ],
    )
    def test_it_says_why(self, sources: tuple[Source, ...], sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            Spec(sources, "userId", JoinType.LEFT)


class TestOverrides:
    def test_they_change_topics_and_join_and_nothing_else(self) -> None:
        changed = SPEC.with_overrides({"accounts": "curated"}, JoinType.INNER)
        assert changed == replace(SPEC, sources=(USERS, replace(ACCOUNTS, topic="curated")), join=JoinType.INNER)

    def test_none_of_them_change_nothing(self) -> None:
        assert SPEC.with_overrides({}, None) == SPEC
