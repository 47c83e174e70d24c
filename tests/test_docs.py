"""The pages: every link leads somewhere, and every `pointsman …` that they tell people to type exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from pointsman.cli import app
from pointsman.domain.generation import MOVES
from pointsman.domain.status import Health
from pointsman.domain.verdict import Outcome
from tests.cli.reference import verbs

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(
    r"(?:^|[\s`/])pointsman((?: --(?:debug|log-format(?: |=)\w+))*) ([a-z]+)(?= |`|$)([^`\n#|]*)", re.MULTILINE
)


def code(page: Path) -> Iterator[str]:
    """What is set as code: blocks and spans."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(r"```(?:bash|sh)?\n(.*?)```", text, re.DOTALL)
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    known = {name.removeprefix("pointsman "): command for name, command in verbs(group)}
    for text in code(page):
        for _, verb, rest in COMMAND.findall(text):
            name = next(
                (n for n in known if n == verb or n == f"{verb} {rest.split()[0] if rest.split() else ''}"), None
            )
            assert name, f"there is no `pointsman {verb}{rest}`"
            options = {option for parameter in known[name].params for option in (*parameter.opts, "--help")}
            asked = set(re.findall(r"(?<=\s)(--?[a-z][a-z-]*)", rest))
            assert asked <= options, f"`pointsman {verb}` has no {', '.join(sorted(asked - options))}"


class TestGlossary:
    """States and verdicts are the ones that there are, with the moves that are possible."""

    TEXT = (ROOT / "docs/explanation/glossary.md").read_text(encoding="utf-8")

    def rows(self, heading: str) -> dict[str, list[str]]:
        section = self.TEXT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()]
        return {row[0].strip("`"): row[1:] for row in cells if row[0].startswith("`")}

    def test_states_of_a_generation(self) -> None:
        found = self.rows("States of a generation")
        said = {state: set(re.findall(r"`(\w+)`", row[-1])) for state, row in found.items()}
        assert said == {state.value: {to.value for to in moves} for state, moves in MOVES.items()}

    def test_verdicts_and_states_of_the_system(self) -> None:
        assert set(self.rows("Verdicts")) == {outcome.value for outcome in Outcome}
        assert set(self.rows("States of the system")) == {health.value for health in Health}
