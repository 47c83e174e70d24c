"""The command line. Each room's verbs are in a module of their own; heavy imports happen inside verbs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pointsman.cli import broker, tables, web
from pointsman.domain.errors import PointsmanError

app = typer.Typer(
    name="pointsman",
    help="Join live Kafka topics on Spark, show them in live tables, re-point them by one message.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="show a traceback with every error")] = False,
) -> None:
    context.obj = {"debug": debug}


broker.add_to(app)
tables.add_to(app)
web.add_to(app)


def main() -> None:
    """Runs the command line; every known error becomes a sentence and exit code 1."""
    try:
        app()
    except PointsmanError as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"error: {error}", err=True)
        if error.next_step:
            typer.echo(f"next: {error.next_step}", err=True)
        sys.exit(1)
