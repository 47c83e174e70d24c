"""The README's commands are those that `make test-readme` follows, and everything that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from pointsman.cli import app
from pointsman.cli.demo import TO_TRY
from tests.cli.reference import verbs
from tests.end_to_end.readme import DEMO, STEPS, TEST, fenced

ROOT = Path(__file__).parents[1]
COMMANDS = fenced(ROOT / "README.md")
POINTSMAN = ".venv/bin/pointsman "


def test_they_are_the_ones_that_are_followed() -> None:
    assert [DEMO, *(step.command for step in STEPS), TEST] == COMMANDS


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_a_target_exists_and_explains_itself(command: str) -> None:
    target = command.removeprefix("make ")
    assert re.search(rf"^{re.escape(target)}:.* ## .+", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith(POINTSMAN)])
def test_a_verb_exists_with_its_options(command: str) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    known = dict(verbs(group))
    verb, *words = command.removeprefix(POINTSMAN).split()
    options = {option for parameter in known[f"pointsman {verb}"].params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_nothing_else_is_to_be_typed() -> None:
    assert all(command.startswith(("make ", POINTSMAN)) for command in COMMANDS)


def test_the_demo_says_to_try_what_the_readme_does() -> None:
    tried = [step.command.removeprefix(POINTSMAN) for step in STEPS]
    assert [words for _, words in TO_TRY] == tried[: len(TO_TRY)]
