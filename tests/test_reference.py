"""The reference says what the code does: nothing that exists is missing there, and nothing is there that does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from pointsman import pipeline, settings
from pointsman.broker.topics import fixed_topics, generation_topics
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import Column, ColumnType, JoinType, Source
from pointsman.settings import Settings, SourceSettings
from pointsman.settings.secrets import group
from tests.pipeline.oracle import Record, judge

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
WORDS: dict[Any, str] = {bool: "true, false", int: "whole number", float: "number", SecretStr: "text, secret"}


def rows(page: str, first: str = "`") -> set[str]:
    """The lines of the page's tables whose first cell starts so."""
    return {line for line in (REFERENCE / page).read_text().splitlines() if line.startswith(f"| {first}")}


def first_cells(page: str) -> set[str]:
    return {cell for row in rows(page) for cell in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


class TestSettings:
    def test_every_setting_is_there_as_it_is_and_nothing_else(self) -> None:
        expected = {self.row(key, field) for key, field in self.fields(Settings)}
        found = rows("settings.md")
        assert not expected - found, "to be added:\n" + "\n".join(sorted(expected - found))
        assert not found - expected, "to be removed:\n" + "\n".join(sorted(found - expected))

    def test_the_built_in_sources_are_there_as_they_are(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page's example of sources says what is built in: with it as the file, nothing changes."""
        monkeypatch.chdir(tmp_path)
        example = re.search(r"```toml\n(.*?)```", (REFERENCE / "settings.md").read_text(), re.DOTALL)
        assert example
        Path("pointsman.toml").write_text(example[1])
        assert settings.load(env={}) == settings.load(env={}, toml=self.nothing(tmp_path))

    @staticmethod
    def nothing(folder: Path) -> Path:
        empty = folder / "empty.toml"
        empty.touch()
        return empty

    def fields(self, model: type[BaseModel], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
        for name, field in model.model_fields.items():
            kind = field.annotation
            if name == "sources":
                yield from self.fields(SourceSettings, "sources.<name>.")
            elif name in ("control", "internal") and above == "kafka.":
                yield f"{above}{name}", field
            elif isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from self.fields(kind, f"{above}{name}.")
            else:
                yield f"{above}{name}", field

    def row(self, key: str, field: FieldInfo) -> str:
        assert field.description, f"{key} has no description"
        help_text = field.description.replace("<", "&lt;")
        return f"| `{key}` | {self.allowed(field)} | {self.default(field)} | {help_text} |"

    def allowed(self, field: FieldInfo) -> str:
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Enum):
            return ", ".join(str(member.value) for member in kind)
        if group(kind):
            return "as kafka itself"
        if choices := get_args(kind):
            return "table" if kind is not None and "dict" in str(kind) else ", ".join(map(str, choices))
        bounds = []
        for rule in field.metadata:
            match rule:
                case Ge(ge=bound):
                    bounds.append(f"≥ {bound}")
                case Gt(gt=bound):
                    bounds.append(f"> {bound}")
                case Le(le=bound):
                    bounds.append(f"≤ {bound}")
        return ", ".join([WORDS.get(kind, "text"), *bounds])

    def default(self, field: FieldInfo) -> str:
        value = field.get_default(call_default_factory=True) if not field.is_required() else None
        value = value.get_secret_value() if isinstance(value, SecretStr) else value
        if field.is_required() or value in ("", {}, None):
            return "none"
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_every_topic_is_in_the_reference_and_no_other() -> None:
    here = settings.load(env={}, toml=None)
    spec, names = here.spec(), here.names
    generation = Generation(1, State.LIVE, spec, {"users": names.view(1, "<source>")}, names.final(1), "")
    plans = [*fixed_topics(here), *generation_topics(generation, here)]
    said = {cell for cell in first_cells("topics.md") if cell.startswith("pointsman.")}
    assert said == {plan.name.replace(".g1.", ".g<N>.") for plan in plans}


def test_every_join_type_and_column_type_is_in_the_reference() -> None:
    assert {join.value for join in JoinType} <= first_cells("topics.md")
    assert {kind.value for kind in ColumnType} <= first_cells("records.md")


@pytest.mark.parametrize("kind", ColumnType)
def test_the_values_that_the_reference_says_a_column_takes_or_refuses_are_judged_so(kind: ColumnType) -> None:
    (row,) = (row for row in rows("records.md") if row.startswith(f"| `{kind}` |"))
    _, takes, refuses = row.strip("| ").split(" | ")
    source = Source("s", "t", (Column("k", ColumnType.STRING), Column("c", kind)))

    def reason(text: str) -> str | None:
        return judge(Record("s", "t", 0, 0, 0, None, f'{{"k": "k", "c": {text}}}'.encode()), source).reason

    assert [text for text in re.findall(r"`([^`]+)`", takes) if reason(text) is not None] == []
    assert [text for text in re.findall(r"`([^`]+)`", refuses) if reason(text) != "wrong-type"] == []


def test_every_reason_of_a_dead_letter_is_in_the_reference_and_no_other() -> None:
    room = Path(pipeline.__file__).parent
    said = set(re.findall(r"THEN '([a-z]+(?:-[a-z]+)+)'", (room / "parsing.py").read_text()))
    said |= set(re.findall(r'refused\("([a-z0-9-]+)"\)', (room / "java/pointsman/RecordReader.java").read_text()))
    page = (REFERENCE / "records.md").read_text().split("## Reasons", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)) == said
