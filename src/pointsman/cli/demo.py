"""`pointsman demo`: everything on this machine with a lifelike feed, and what to try."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pointsman.cli.terminal import Terminal
    from pointsman.fleet.child import Child
    from pointsman.fleet.launch import Launch
    from pointsman.settings import Settings

TOML = """\
# Written by `pointsman demo` at every start. To reach the demo from anywhere: export POINTSMAN_CONFIG={path}
home = {home}

[kafka]
bootstrap_servers = "localhost:{broker}"

[spark]
driver_memory = "1g"

[tables]
port = {tables}
heap = "1g"

[web]
port = {web}
"""
BROKER_PORT, TABLES_PORT, WEB_PORT = 9092, 10000, 8080
TO_TRY = (
    ("other topics, curated ones", "switch --users-topic users_curated --accounts-topic accounts_curated --wait"),
    ("another join", "switch --join inner --wait"),
    ("a topic that is not there", "switch --users-topic users_typo --wait"),
)


def add_to(app: typer.Typer) -> None:
    app.command("demo")(run)


def run(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="where the demo keeps its data")] = Path(".pointsman/demo"),
) -> None:
    """See it all at work on this machine, until Ctrl-C: a broker, a lifelike feed, the pipeline, tables and page.

    It has a broker and a folder of its own, and reads no settings of yours. Prints `ready URL` when the page answers.
    """
    begun = time.monotonic()
    from pointsman import settings
    from pointsman.cli.running import Running
    from pointsman.cli.terminal import Mark, Terminal
    from pointsman.fleet.claims import Claims
    from pointsman.fleet.launch import Launch

    folder = folder.absolute()
    file = _write(folder, BROKER_PORT, TABLES_PORT, WEB_PORT)
    claims = Claims(folder)
    own = settings.load(env={}, toml=file)
    launch = Launch(own, {}, claims, context.obj.words, env=_these_settings_only(file))
    try:
        _fill(launch)
        _write(folder, launch.broker_port, launch.tables_port, launch.web_port)
        with Terminal(context.obj) as terminal:
            for notice in launch.notices:
                terminal.line(Mark.WARN, notice)
            story = Story(launch, file, terminal, begun)
            if launch.roles:
                try:
                    Running(launch, terminal, on_ready=story.begin, on_tick=story.look).run()
                finally:
                    story.end()
            else:
                story.say_address()
                story.say_what_to_try()
    finally:
        claims.release()


class Story:
    """What the newcomer is told once things run: the address, the first row that ticks, and what to try."""

    def __init__(self, launch: Launch, file: Path, terminal: Terminal, begun: float) -> None:
        self._launch, self._file, self._terminal, self._begun = launch, file, terminal, begun
        self._looking: Child | None = None

    def begin(self) -> None:
        from pointsman.fleet.child import Child, Role

        env = {
            **self._launch.env,
            "POINTSMAN_TABLES__KEY": self._launch.viewer_key,
            "POINTSMAN_TABLES__PORT": str(self._launch.tables_port),
        }
        command = (sys.executable, "-m", "pointsman.tables.first_tick")
        self._looking = Child(Role("first-tick", command, env), self._launch.settings.home / "logs")
        self.say_address()

    def look(self) -> None:
        """Tells of the first ticking row, and then what to try; once."""
        from pointsman.cli.terminal import Mark

        if self._looking is None:
            return
        ended = self._looking.exit_code() is not None
        seen = self._looking.ready
        if seen is not None:
            seconds = time.monotonic() - self._begun
            self._terminal.line(Mark.DONE, f"first ticking row {seconds:.0f} s after the start; {seen} now")
        elif ended:
            self._terminal.line(Mark.WARN, f"the tables could not be looked at: {self._looking.last_words()}")
        else:
            return
        self.end()
        self.say_what_to_try()

    def end(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.kill()

    def say_address(self) -> None:
        typer.echo(f"ready {self._launch.page}/#key={self._launch.viewer_key}")
        sys.stdout.flush()
        self._terminal.text(f"   operator key, to switch on the page: {self._launch.operator_key}")

    def say_what_to_try(self) -> None:
        pointsman = _command(self._file, self._launch.reached)
        self._terminal.text("\nOpen the address above, then try this in another terminal and watch the page:\n", "bold")
        for number, (what, words) in enumerate(TO_TRY, 1):
            self._terminal.text(f"  {number}. {what}\n     {pointsman} {words}")
        self._terminal.text(f"\n  and back again: {pointsman} rollback --wait\n  Ctrl-C here ends everything.\n")


def _fill(launch: Launch) -> None:
    launch.add_broker(share=False)
    launch.add_feed()
    launch.add_pipeline()
    launch.add_tables()
    launch.add_web()


def _write(folder: Path, broker: int, tables: int, web: int) -> Path:
    from pointsman.domain.errors import EnvironmentProblem

    path = folder / "pointsman.toml"
    home = '"' + str(folder).replace("\\", "\\\\").replace('"', '\\"') + '"'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(TOML.format(path=path, home=home, broker=broker, tables=tables, web=web))
    except OSError as error:
        raise EnvironmentProblem(
            f"the folder {folder} cannot be written: {error.strerror}", "choose another with --folder"
        ) from error
    return path


def _these_settings_only(file: Path) -> dict[str, str]:
    """Whatever this terminal has set is for another Pointsman: an empty variable is like none."""
    from pointsman.settings.load import ENV_FILE, ENV_PREFIX

    others = {name: "" for name in os.environ if name.startswith(ENV_PREFIX) and name != "POINTSMAN_JARS"}
    return {**others, ENV_FILE: str(file)}


def _command(file: Path, demo: Settings) -> str:
    """`pointsman`, as it can be typed in another terminal in this folder to reach the demo."""
    from pointsman import settings
    from pointsman.domain.errors import SettingsError

    script = Path(sys.executable).with_name("pointsman")
    found = shutil.which("pointsman")
    name = "pointsman" if found and Path(found).resolve() == script.resolve() else _near(script)
    try:
        plain = settings.load()
        same = (plain.kafka, plain.topics, plain.control, plain.sources) == (
            demo.kafka,
            demo.topics,
            demo.control,
            demo.sources,
        )
    except SettingsError:
        same = False
    if same:
        return shlex.quote(name)
    variables = {**_these_settings_only(file), "POINTSMAN_CONFIG": _near(file)}
    return " ".join([*(f"{key}={shlex.quote(value)}" for key, value in variables.items()), shlex.quote(name)])


def _near(path: Path) -> str:
    """Relative where it is below this folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
