"""The reference of the command line, from the command line itself: `python -m tests.cli.reference` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup

from pointsman.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by `python -m tests.cli.reference`, and tested against the code. -->

`pointsman [--debug] [--log-format text|json] VERB …`. `pointsman --install-completion` sets up your shell's completion.

- Data goes to stdout, everything else to stderr. `--json` makes the data JSON: one object, or one a line where it goes
  on.
- Long-running verbs print a line on stdout that starts with `ready` when they answer, and end with Ctrl-C or SIGTERM.
- `--log-format json` makes every line on stderr an object: `ts`, `level`, `logger`, `msg`, and `next` where there is
  something to do.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed: a sentence on stderr says what, and what to do next |
| 2 | the command line itself is wrong |
| 3 | timed out; what was waited for may still come |
| 4 | not allowed: the broker forbids it, or another Pointsman has taken over |
"""


def verbs(group: TyperGroup, above: str = "pointsman") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from verbs(command, f"{above} {name}")
        else:
            yield f"{above} {name}", command


def page() -> str:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return "\n".join([HEAD, *(_section(name, command) for name, command in verbs(group))])


def _section(name: str, command: Any) -> str:
    first, _, rest = (command.help or "").partition("\n\n")
    text = "\n\n".join(" ".join(part.split()) for part in (first, rest) if part)
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    table = ["", "| option | default | what it is |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"## `{name}`", "", text, *table, ""])


def _row(parameter: Any) -> str:
    help_text = str(getattr(parameter, "help", "") or "")
    names = ", ".join(f"`{name}`" for name in parameter.opts) if parameter.param_type_name == "option" else "`FILE`"
    default = parameter.default
    shown = "none" if default in (None, False, ()) or callable(default) else f"`{default}`"
    return f"| {names} | {shown} | {help_text.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
