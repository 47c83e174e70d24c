"""The reference of the command line is what the command line is."""

from __future__ import annotations

from tests.cli.reference import PAGE, page


def test_every_verb_and_option_is_in_the_reference_as_it_is_and_nothing_else() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.cli.reference"
