"""`pointsman config show`: the settings as they are, and where each came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

DEFAULTS = "the built-in defaults"


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(help="The settings.", no_args_is_help=True)
    group.command("show")(show)
    app.add_typer(group, name="config")


def show(
    origin: Annotated[bool, typer.Option("--origin", help="say where each value came from")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Every setting as it is now, secrets masked."""
    import os

    from pointsman import settings
    from pointsman.settings.load import gather

    values = dict(flat(settings.load().model_dump(mode="json")))
    set_by = gather({}, os.environ, None).origins
    origins = {key: set_by.get(key, DEFAULTS) for key in values}
    if as_json:
        told = {k: {"value": v, "origin": origins[k]} for k, v in values.items()} if origin else values
        typer.echo(json.dumps(told))
        return
    for key, value in values.items():
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        typer.echo(f"{line:60}  # {origins[key]}" if origin else line)


def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """`join.type`, left. Secrets are masked by their type, and no setting of another type takes one."""
    for name, value in values.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{key}.")
        elif value is not None:
            yield key, value
