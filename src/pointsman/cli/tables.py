"""`pointsman tables`: the live tables, on a Deephaven server."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated

import typer

from pointsman.cli import logbook


def add_to(app: typer.Typer) -> None:
    app.command("tables")(run)


def run(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="port of the tables server", min=1, max=65535)] = None,
) -> None:
    """Serve the live tables until Ctrl-C.

    Prints `ready URL` when viewers can connect. Needs nothing but a broker; may run many times over.
    """
    from pointsman import settings
    from pointsman.broker import reach
    from pointsman.tables.server import TablesServer

    logbook.begin(context.obj)
    loaded = settings.load(flags={"tables": {"port": port}})
    reach.require(loaded)
    server = TablesServer(loaded)
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if server.settings.tables.console:
        logbook.say(
            context.obj, "WARNING: tables.console is on: whoever has the access key can run code on this machine"
        )
    if server.key_was_generated:
        logbook.say(context.obj, f"access key (shown once; set POINTSMAN_TABLES__KEY to choose your own): {server.key}")
    server.start()
    typer.echo(f"ready {server.url}")
    sys.stdout.flush()
    asked.wait()
    server.stop()
    logbook.say(context.obj, "stopped")
    sys.stderr.flush()
    # Deephaven's threads would keep the process for as long as they like.
    os._exit(0)
