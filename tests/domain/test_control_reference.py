"""docs/reference/control-messages.md says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.domain.control import JOIN_FIELD, REQUEST_FIELD, REQUEST_LENGTH, ROLLBACK_FIELD
from pointsman.domain.spec import JoinType
from pointsman.domain.verdict import Outcome, Verdict
from pointsman.orchestrator.intake import MOST_PENDING
from pointsman.orchestrator.loop import Pace

TEXT = (Path(__file__).parents[2] / "docs/reference/control-messages.md").read_text()


@pytest.mark.parametrize("word", [JOIN_FIELD, REQUEST_FIELD, ROLLBACK_FIELD, *JoinType, *Outcome])
def test_every_field_join_type_and_outcome_is_documented(word: str) -> None:
    assert f"`{word}`" in TEXT


@pytest.mark.parametrize("field", Verdict(0, 0, Outcome.APPLIED, "", None, 0, 0.0).to_json())
def test_every_field_of_a_verdict_is_in_the_example(field: str) -> None:
    assert f'"{field}":' in TEXT


def test_the_numbers_are_the_codes_own() -> None:
    pace = Pace()
    assert f"nothing has changed for {pace.settle} s" in TEXT
    assert f"no\n  later than {pace.settle_at_most:g} s" in TEXT
    assert f"at most {REQUEST_LENGTH} characters" in TEXT
    assert f"of more than\n{MOST_PENDING}," in TEXT
