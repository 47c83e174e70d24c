"""The command line. Each room's verbs are in a module of their own; heavy imports happen inside verbs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pointsman.cli import broker, config, control, demo, doctor, feed, init, pipeline, tables, topics, up, web
from pointsman.cli.logbook import LogFormat, Options, say_error
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
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="show a traceback with every error")] = False,
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", help="how long-running verbs log to stderr")
    ] = LogFormat.TEXT,
) -> None:
    context.obj = Options(debug, log_format)


for room in (demo, up, init, doctor, config, topics, control, broker, pipeline, tables, web, feed):
    room.add_to(app)


def main() -> None:
    """Runs the command line; every error becomes a sentence, what to do next, and the error's exit code.

    Looks for its own options itself: an error may come before they are read.
    """
    try:
        app()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        told = error if isinstance(error, PointsmanError) else _unforeseen(error)
        as_json = "--log-format=json" in sys.argv or ["--log-format", "json"] in _pairs(sys.argv)
        say_error(Options(log_format=LogFormat.JSON if as_json else LogFormat.TEXT), str(told), told.next_step)
        sys.exit(told.exit_code)


def _pairs(words: list[str]) -> list[list[str]]:
    return [words[at : at + 2] for at in range(len(words))]


def _unforeseen(error: Exception) -> PointsmanError:
    return PointsmanError(f"{type(error).__name__}: {error}", "run `pointsman --debug …` to see where, and report it")
