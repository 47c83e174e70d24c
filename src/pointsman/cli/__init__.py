"""The command line. Each room's verbs are in a module of their own; heavy imports happen inside verbs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pointsman.cli import broker, control, pipeline, tables, web
from pointsman.domain.errors import PointsmanError

app = typer.Typer(
    name="pointsman",
    help="Join live Kafka topics on Spark, show them in live tables, re-point them by one message.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes around the help would double the time that it takes
)


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="show a traceback with every error")] = False,
) -> None:
    """`main` looks for --debug itself: an error may come before the options are read."""
    _ = debug


for room in (broker, pipeline, control, tables, web):
    room.add_to(app)


def main() -> None:
    """Runs the command line; every error becomes a sentence, what to do next, and exit code 1."""
    try:
        app()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        told = error if isinstance(error, PointsmanError) else _unforeseen(error)
        typer.echo(f"error: {told}", err=True)
        if told.next_step:
            typer.echo(f"next: {told.next_step}", err=True)
        sys.exit(1)


def _unforeseen(error: Exception) -> PointsmanError:
    return PointsmanError(f"{type(error).__name__}: {error}", "run `pointsman --debug …` to see where, and report it")
