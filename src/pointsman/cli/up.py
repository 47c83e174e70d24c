"""`pointsman up`: every process on this machine, kept alive."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pointsman.cli.terminal import Terminal
    from pointsman.fleet.launch import Launch

PARTS = ("broker", "pipeline", "tables", "web")


def add_to(app: typer.Typer) -> None:
    app.command("up")(run)


def run(
    context: typer.Context,
    only: Annotated[
        str | None, typer.Option("--only", help="start these alone, separated by commas: broker, pipeline, tables, web")
    ] = None,
) -> None:
    """Run Pointsman on this machine until Ctrl-C: broker (where none is configured), pipeline, tables and page.

    A process that dies is started again. Prints `ready URL` when the page answers.
    """
    chosen = _chosen(only)
    from pointsman import settings
    from pointsman.cli.running import Running
    from pointsman.cli.terminal import Terminal
    from pointsman.fleet.claims import Claims
    from pointsman.fleet.launch import Launch
    from pointsman.settings.load import gather

    loaded = settings.load()
    claims = Claims(loaded.home)
    launch = Launch(loaded, gather({}, os.environ, None).origins, claims, context.obj.words)
    if only is not None and "broker" in chosen and not launch.needs_broker:
        raise typer.BadParameter("the settings name a broker, so none is started here", param_hint="--only")
    try:
        _fill(launch, chosen)
        with Terminal(context.obj) as terminal:
            for notice in launch.notices:
                _say_notice(terminal, notice)
            if launch.roles:
                Running(launch, terminal, on_ready=lambda: _say_ready(launch, terminal)).run()
            else:
                _say_ready(launch, terminal)
    finally:
        claims.release()


def _chosen(only: str | None) -> frozenset[str]:
    if only is None:
        return frozenset(PARTS)
    found = frozenset(name.strip() for name in only.split(",") if name.strip())
    unknown = sorted(found - set(PARTS))
    if unknown or not found:
        raise typer.BadParameter(f"'{', '.join(unknown)}' is none of {', '.join(PARTS)}", param_hint="--only")
    return found


def _fill(launch: Launch, chosen: frozenset[str]) -> None:
    if "broker" in chosen and launch.needs_broker:
        launch.add_broker()
    if "pipeline" in chosen:
        launch.add_pipeline()
    if "tables" in chosen:
        launch.add_tables()
    if "web" in chosen:
        launch.add_web()


def _say_notice(terminal: Terminal, notice: str) -> None:
    from pointsman.cli.terminal import Mark

    terminal.line(Mark.WARN, notice)


def _say_ready(launch: Launch, terminal: Terminal) -> None:
    """The keys go to a terminal only: what is not one may be somebody's log."""
    if not launch.web_port:
        typer.echo("ready")
    elif terminal.moves and sys.stdout.isatty() and launch.viewer_key:
        typer.echo(f"ready {launch.page}/#key={launch.viewer_key}")
        if launch.operator_key:
            terminal.text(f"  operator key, to switch on the page: {launch.operator_key}")
    else:
        typer.echo(f"ready {launch.page}")
        if launch.viewer_key or launch.operator_key:
            terminal.text(f"  the keys of viewers and operators are in {launch.settings.home / 'keys'}")
    for variable, value in launch.variables.items():
        terminal.text(f"  in other terminals: export {variable}={value}")
    terminal.text("  Ctrl-C ends everything")
    sys.stdout.flush()
