"""`pointsman topics`: what a switch may name."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command("topics")(run)


def run(as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """The topics that a control message may name, with how many partitions and records each has."""
    from pointsman import settings
    from pointsman.broker import reach
    from pointsman.web.planning import Planner

    loaded = settings.load()
    reach.require(loaded)
    found = Planner(loaded).topics()
    if as_json:
        typer.echo(json.dumps({"topics": found}))
        return
    read = {source.topic: name for name, source in loaded.sources.items()}
    width = max((len(topic["name"]) for topic in found), default=0)
    for topic in found:
        note = f"  source {read[topic['name']]}" if topic["name"] in read else ""
        counts = f"{topic['partitions']:>4} partitions {topic['records']:>12,} records"
        typer.echo(f"{topic['name']:{width}} {counts}{note}")
    if not found:
        typer.echo("there is no topic that a control message may name", err=True)
