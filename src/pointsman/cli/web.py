"""`pointsman web`: the page and its small API."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pointsman.cli import logbook


def add_to(app: typer.Typer) -> None:
    app.command("web")(run)


def run(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="port of the page", min=1, max=65535)] = None,
) -> None:
    """Serve the page until Ctrl-C.

    Prints `ready URL` when it answers. Needs a broker; browsers reach the tables server by themselves.
    """
    from pointsman import settings
    from pointsman.web.server import WebServer

    logbook.begin(context.obj)
    server = WebServer(settings.load(flags={"web": {"port": port}}))
    if server.key_was_generated:
        logbook.say(
            context.obj, f"operator key (shown once; set POINTSMAN_WEB__OPERATOR_KEY to choose your own): {server.key}"
        )

    def ready() -> None:
        typer.echo(f"ready {server.url}")
        sys.stdout.flush()

    server.run(ready)
    logbook.say(context.obj, "stopped")
