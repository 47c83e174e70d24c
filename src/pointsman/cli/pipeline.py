"""`pointsman pipeline`: the orchestrator and Spark."""

from __future__ import annotations

import signal
import threading
from types import FrameType

import typer


def add_to(app: typer.Typer) -> None:
    app.command("pipeline")(run)


def run() -> None:
    """Join the topics on Spark and follow the control topic, until Ctrl-C.

    Prints `ready` when it has taken over. Stopped or killed, it goes on where it was at the next start.
    """
    from pointsman import settings
    from pointsman.app import run_pipeline

    loaded = settings.load()
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)

    def said(line: str) -> None:
        typer.echo(line, err=not line.startswith("ready"))

    run_pipeline(loaded, asked, said)
    typer.echo("stopped; the next start goes on from here", err=True)
