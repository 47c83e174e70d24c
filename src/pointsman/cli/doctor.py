"""`pointsman doctor`: is everything there that Pointsman needs?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pointsman.doctor.findings import Finding

COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED, "skipped": None}


def add_to(app: typer.Typer) -> None:
    app.command("doctor")(run)


def run(
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    bundle: Annotated[
        Path | None, typer.Option(help="also write this file for whoever helps you from afar; it holds no secret")
    ] = None,
) -> None:
    """Look whether everything is there: Java, jars, disk, ports, broker, topics, records, tables, Spark's slots.

    Changes nothing. Exit code 1 if there is a problem. The file of --bundle holds what was found, versions, settings
    with secrets masked, and the newest catalog, status, journal and verdicts; no records, no dead letters, no logs.
    """
    from pointsman.doctor.checkup import examine
    from pointsman.doctor.findings import Level

    found = []
    for finding in examine():
        found.append(finding)
        if not as_json:
            _show(finding)
    healthy = not any(finding.level is Level.PROBLEM for finding in found)
    if as_json:
        typer.echo(json.dumps({"ok": healthy, "findings": [finding.to_json() for finding in found]}))
    if bundle is not None:
        from pointsman.doctor.bundle import write

        write(bundle, found)
        typer.echo(f"wrote {bundle}: read it before you send it to anybody", err=True)
    if not healthy:
        raise typer.Exit(1)


def _show(finding: Finding) -> None:
    level = typer.style(f"{finding.level.value:8}", fg=COLOURS[finding.level.value])
    typer.echo(f"{level} {finding.check}: {finding.says}")
    if finding.next_step:
        typer.echo(f"         next: {finding.next_step}")
