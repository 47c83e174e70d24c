"""`pointsman feed`: a small bank's topics, for trying things out."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Annotated

import typer

from pointsman.cli import logbook


def add_to(app: typer.Typer) -> None:
    app.command("feed")(run)


def run(
    context: typer.Context,
    rate: Annotated[float, typer.Option(help="happenings per second", min=0.1, max=10_000)] = 20,
) -> None:
    """Send lifelike users and accounts until Ctrl-C, for trying things out.

    Makes and fills the topics users, accounts, users_curated and accounts_curated; a few records are malformed on
    purpose. Prints `ready` when everyone has been told of once.
    """
    from pointsman import settings
    from pointsman.broker import reach
    from pointsman.demo.feed import Feed

    logbook.begin(context.obj)
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    loaded = settings.load()
    reach.require(loaded)
    feed = Feed(loaded, rate)
    feed.begin()
    typer.echo(f"ready: {rate:g} happenings a second")
    sys.stdout.flush()
    feed.run(asked)
    logbook.say(context.obj, "stopped")
