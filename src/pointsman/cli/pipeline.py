"""`pointsman pipeline`: the orchestrator and Spark."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

import typer

from pointsman.cli import logbook


def add_to(app: typer.Typer) -> None:
    app.command("pipeline")(run)


def run(context: typer.Context) -> None:
    """Join the topics on Spark and follow the control topic, until Ctrl-C.

    Prints `ready` when it has taken over. Stopped or killed, it goes on where it was at the next start.
    """
    from pointsman import settings
    from pointsman.app import run_pipeline
    from pointsman.broker import clients, reach
    from pointsman.cli.ending import until_asked

    logbook.begin(context.obj)
    loaded = settings.load()
    reach.require(loaded)
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)

    def said(line: str) -> None:
        if line.startswith("ready"):
            typer.echo(line)
            sys.stdout.flush()
        else:
            logbook.say(context.obj, line)

    if until_asked(
        lambda: run_pipeline(loaded, asked, said), asked, lambda seconds: clients.answers(loaded.own_cluster, seconds)
    ):
        logbook.say(context.obj, "stopped; the next start goes on from here")
        return
    logbook.say(
        context.obj, "ended: the broker does not answer, or the queries go on; the next start goes on from here"
    )
    os._exit(0)  # what is still waited for may never come, and everything that matters is in the catalog
