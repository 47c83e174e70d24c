"""`pointsman broker`: a real Kafka on this machine."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from pointsman.cli import logbook


def add_to(app: typer.Typer) -> None:
    app.command("broker")(run)


def run(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="port on 127.0.0.1", min=1, max=65535)] = 9092,
    data: Annotated[Path | None, typer.Option(help="folder that keeps the data; default: broker in home")] = None,
) -> None:
    """Run an embedded Apache Kafka (KRaft, one node, loopback) until Ctrl-C.

    Prints `ready HOST:PORT` when it answers. Its data is kept, and used again at the next start.
    """
    asked = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    def interrupted() -> None:
        if asked.is_set():
            logbook.say(context.obj, "stopped before it was ready")
            raise typer.Exit

    for kind in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(kind, stop)

    logbook.begin(context.obj)
    from pointsman import settings
    from pointsman.broker.embedded import EmbeddedBroker
    from pointsman.domain.errors import BrokerError

    broker = EmbeddedBroker(data or settings.load().home / "broker", port)
    logbook.say(context.obj, f"starting a Kafka broker on {broker.address}, data in {broker.data}")
    broker.start(on_wait=interrupted)
    try:
        typer.echo(f"ready {broker.address}")
        while not asked.wait(0.2):
            code = broker.exit_code()
            if code is not None:
                raise BrokerError(
                    f"the broker ended by itself (exit code {code}): {broker.last_words()}", f"read {broker.log}"
                )
    finally:
        broker.stop()
    logbook.say(context.obj, "stopped")
