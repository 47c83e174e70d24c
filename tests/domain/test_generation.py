from __future__ import annotations

import itertools

import pytest

from pointsman.domain.errors import IllegalMove
from pointsman.domain.generation import MOVES, Generation, State
from tests.orchestrator.house import SPEC


def generation(state: State) -> Generation:
    return Generation(7, state, SPEC, {"users": "p.g7.users", "accounts": "p.g7.accounts"}, "p.g7.final", "c/g7")


@pytest.mark.parametrize(("start", "end"), list(itertools.product(State, State)))
def test_only_legal_moves_are_made_and_others_raise_a_sentence(start: State, end: State) -> None:
    if end in MOVES[start]:
        assert generation(start).move(end).state is end
    else:
        with pytest.raises(IllegalMove, match=f"generation 7 is {start} and cannot become {end}"):
            generation(start).move(end)


def test_a_generation_survives_its_json_form() -> None:
    one = generation(State.LINGERING)
    full = Generation(
        **{**vars(one), "read_to": {"p.g7.final": {0: 12}}, "linger_until": 5.0, "started": 1.0, "published": 3}
    )
    assert Generation.from_json(full.to_json()) == full


def test_a_record_without_the_newer_fields_can_still_be_read() -> None:
    data = generation(State.LIVE).to_json()
    del data["started"], data["published"]
    assert Generation.from_json(data) == generation(State.LIVE)
