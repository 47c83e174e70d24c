from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pointsman.domain.catalog import Catalog, Overrides, Pending
from pointsman.domain.errors import CatalogError
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import JoinType, Spec
from tests.orchestrator.house import SPEC, spec, with_columns


def generation(number: int, state: State, of: Spec = SPEC) -> Generation:
    return Generation(number, state, of, {"users": f"g{number}.users"}, f"g{number}.final", f"c{number}")


def catalog(*generations: Generation) -> Catalog:
    found = Catalog(base=SPEC)
    for one in generations:
        found = found.put(one)
    return replace(found, live=next((g.number for g in generations if g.state is State.LIVE), None))


def test_a_catalog_survives_its_bytes() -> None:
    full = replace(
        catalog(generation(3, State.LIVE), generation(2, State.LINGERING)),
        overrides=Overrides({"users": "raw.users"}, JoinType.INNER),
        next_control={0: 17, 1: 3},
        settings_fingerprint="abc",
        previous=spec(users="raw.users"),
        publishes=4,
        pending=(Pending(0, 16, 12.5, "r", ("junk",), "note"),),
        last_applied=99.0,
        last_error="none really",
    )
    assert Catalog.from_bytes(full.to_bytes()) == full


def test_a_catalog_without_the_newer_fields_can_still_be_read() -> None:
    record = json.loads(Catalog(next_control={0: 5}).to_bytes())
    for name in ("base", "previous", "publishes", "pending", "lastApplied", "lastError"):
        del record[name]
    assert Catalog.from_bytes(json.dumps(record).encode()) == Catalog(next_control={0: 5})


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"format": 99}', b"null", b"\xff"])
def test_a_catalog_that_cannot_be_read_says_what_to_do(data: bytes) -> None:
    with pytest.raises(CatalogError) as caught:
        Catalog.from_bytes(data)
    assert "topics.prefix" in caught.value.next_step


def test_a_freed_generation_is_forgotten_and_its_number_not_used_again() -> None:
    after = catalog(generation(4, State.FREED))
    assert after.generations == {}
    assert after.next_number == 5


def test_wanted_is_the_base_with_the_overrides() -> None:
    assert Catalog().wanted is None
    one = Catalog(base=SPEC, overrides=Overrides({"users": "raw.users"}, JoinType.INNER))
    assert one.wanted == spec(users="raw.users", join=JoinType.INNER)


def test_wanting_a_spec_keeps_the_fewest_overrides() -> None:
    one = Catalog(base=SPEC).wanting(spec(users="raw.users"))
    assert one.overrides == Overrides({"users": "raw.users"})
    assert one.wanting(SPEC).overrides == Overrides()


def test_wanting_what_no_override_can_say_makes_it_the_base() -> None:
    other = with_columns("name", "email")
    one = Catalog(base=SPEC, overrides=Overrides({"users": "x"})).wanting(other)
    assert (one.base, one.overrides, one.wanted) == (other, Overrides(), other)


def test_publishing_replaces_the_live_generation_which_lingers() -> None:
    before = catalog(generation(1, State.LIVE), generation(2, State.READY, spec(users="raw.users")))
    after = before.publish(2, now=100.0, linger_seconds=60, max_lingering=2)
    assert after.live == 2
    assert after.generations[2].state is State.LIVE
    assert after.generations[1].state is State.LINGERING
    assert after.generations[1].linger_until == 160.0
    assert after.previous == SPEC


def test_publishing_lets_go_of_those_that_were_live_longest_ago() -> None:
    one = catalog(generation(1, State.READY)).publish(1, 0, 60, 2)
    for number in (2, 3, 4):
        one = one.put(generation(number, State.READY, spec(users=f"u.{number}"))).publish(number, 0, 60, 2)
    assert [g.number for g in one.lingering] == [3, 2]
    assert one.generations[1].state is State.FREEING


def test_a_repair_keeps_the_way_back() -> None:
    before = replace(catalog(generation(1, State.LIVE), generation(2, State.READY)), previous=spec(users="old"))
    assert before.publish(2, 0, 60, 2).previous == spec(users="old")
