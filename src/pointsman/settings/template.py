"""A pointsman.toml with every setting in it, each with what it is and its default, commented out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from pointsman.settings.model import Settings

HEAD = """\
# Settings of Pointsman. What is commented out is the default. Every key is in docs/reference/settings.md; each can also
# be set by a variable, POINTSMAN_ and the key with __ for every dot: POINTSMAN_KAFKA__BOOTSTRAP_SERVERS.
# Keys and passwords do not belong in this file: give them by variables.
"""


def template(
    sources: Mapping[str, Mapping[str, Any]],
    notes: Mapping[str, Sequence[str]],
    given: Mapping[str, Any],
) -> str:
    """`sources` is written as it is, with the notes on each; `given` are keys that are not left at their default."""
    parts = [HEAD]
    below: list[str] = []
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if name == "sources":
            below += [_source(source, values, notes.get(source, ())) for source, values in sources.items()]
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            below.append(_section(name, kind, given))
        else:
            parts.append("".join(_lines("", name, field, given)))
    return "\n".join([*parts, *below])


def _section(name: str, model: type[BaseModel], given: Mapping[str, Any]) -> str:
    lines = [f"[{name}]\n"]
    inner = []
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            inner.append(_section(f"{name}.{key}", kind, given))
        elif field.default is None:
            continue  # a group that may be left out: the reference tells of it
        else:
            lines += _lines(f"{name}.", key, field, given)
    return "\n".join(["".join(lines), *inner])


def _lines(above: str, name: str, field: FieldInfo, given: Mapping[str, Any]) -> list[str]:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, SecretStr):
        variable = f"POINTSMAN_{above.replace('.', '__').upper()}{name.upper()}"
        return [f"# {name}: {field.description}. Secret: set {variable}\n"]
    value = given.get(f"{above}{name}")
    shown = f"{name} = {_toml(default if value is None else value)}\n"
    return [f"# {field.description}\n", f"#{shown}" if value is None else shown]


def _source(name: str, values: Mapping[str, Any], notes: Sequence[str]) -> str:
    lines = [f"[sources.{name}]\n", f"topic = {_toml(values['topic'])}\n", '#start = "earliest"\n']
    lines += [f"# {note}\n" for note in notes]
    lines += [f"\n[sources.{name}.columns]\n"]
    lines += [f"{column} = {_toml(str(kind))}\n" for column, kind in values["columns"].items()]
    return "".join(lines)


def _toml(value: Any) -> str:
    """A text, number, truth value or empty table; JSON's spelling of these is TOML's too."""
    return json.dumps(value if isinstance(value, int | float | dict) else str(value), ensure_ascii=False)
