"""`pointsman tables`: the live tables, on a Deephaven server."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command("tables")(run)


def run(
    port: Annotated[int | None, typer.Option(help="port of the tables server", min=1, max=65535)] = None,
) -> None:
    """Serve the live tables until Ctrl-C.

    Prints `ready URL` when viewers can connect. Needs nothing but a broker; may run many times over.
    """
    from pointsman import settings
    from pointsman.tables.server import TablesServer

    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    server = TablesServer(settings.load(flags={"tables": {"port": port}}))
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if server.settings.tables.console:
        typer.echo("WARNING: tables.console is on: whoever has the access key can run code on this machine", err=True)
    if server.key_was_generated:
        typer.echo(f"access key (shown once; set POINTSMAN_TABLES__KEY to choose your own): {server.key}", err=True)
    server.start()
    typer.echo(f"ready {server.url}")
    sys.stdout.flush()
    asked.wait()
    server.stop()
    typer.echo("stopped", err=True)
    sys.stderr.flush()
    # Deephaven's threads would keep the process for as long as they like.
    os._exit(0)
