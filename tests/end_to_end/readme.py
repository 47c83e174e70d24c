"""Follows the README to the letter, as `make test-readme`: a fresh clone of what is committed, and a fresh home.

The commands are the README's own: they are found in its fenced blocks, in order, and only what each must come to is
said here. `make test` is left to the rest of the tests, of which this cannot be one: it needs the ports of the demo.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
# How a company's mirrors are found is no part of a fresh home; what was fetched from them is.
MIRRORS = (".m2/settings.xml", ".npmrc", ".config/pip/pip.conf", ".pip/pip.conf")
PORTS = (9092, 10000, 8080)
TICKING = re.compile(r"first ticking row (\d+) s after the start; (\d+) rows now")
READY = re.compile(r"^ready (http://127\.0\.0\.1:8080)/#key=\S+$", re.MULTILINE)
DEMO, TEST = "make demo", "make test"
MOST_SECONDS, SET_UP_SECONDS, END_SECONDS = 90, 1800, 12


@dataclass(frozen=True)
class Step:
    """A command of the README that is typed while the demo runs, and what it must come to."""

    command: str
    exit_code: int
    says: str


STEPS = (
    Step(
        ".venv/bin/pointsman switch --users-topic users_curated --accounts-topic accounts_curated --wait", 0, "applied"
    ),
    Step(".venv/bin/pointsman switch --join inner --wait", 0, "applied"),
    Step(".venv/bin/pointsman switch --users-topic users_typo --wait", 1, "topic 'users_typo' does not exist"),
    Step(".venv/bin/pointsman rollback --wait", 0, "applied"),
)


def fenced(page: Path) -> list[str]:
    """Every command in the page's blocks of shell, without its comment."""
    blocks = re.findall(r"```(?:bash|sh)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = (line.partition(" #")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))  # and what was started ends, too
    busy = [port for port in PORTS if _answers(port)]
    if busy:
        sys.exit(f"the README is followed on the ports that it names: end what holds {', '.join(map(str, busy))}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "pointsman")], check=True)
        follow(folder / "pointsman", _fresh_home(folder / "home"), fenced(folder / "pointsman" / "README.md"))


def follow(clone: Path, env: Mapping[str, str], commands: list[str]) -> None:
    assert commands == [DEMO, *(step.command for step in STEPS), TEST], commands
    begun = time.monotonic()
    with _running(DEMO, clone, env) as demo:
        ready = demo.until(READY, SET_UP_SECONDS)
        ticking = demo.until(TICKING, 120)
        print(f"{DEMO}: {ready[1]} and {ticking[2]} rows, the first ticking one {ticking[1]} s after the set-up")
        print(f"from a fresh clone to there: {time.monotonic() - begun:.0f} s")
        assert int(ticking[1]) <= MOST_SECONDS
        for step in STEPS:
            done = subprocess.run(
                ["bash", "-c", step.command], cwd=clone, env=env, capture_output=True, text=True, check=False
            )
            said = (done.stdout + done.stderr).strip()
            print(f"{step.command}: {said.splitlines()[0] if said else 'nothing'}")
            assert (done.returncode, step.says in said) == (step.exit_code, True), said
        demo.end()


class _Demo:
    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self._process, self._said = process, said

    def until(self, holds: re.Pattern[str], seconds: float) -> re.Match[str]:
        deadline = time.monotonic() + seconds
        while not (found := holds.search(self._said.read_text(errors="replace"))):
            assert self._process.poll() is None, self._said.read_text(errors="replace")
            assert time.monotonic() < deadline, self._said.read_text(errors="replace")
            time.sleep(0.2)
        return found

    def end(self) -> None:
        """Ctrl-C, which a terminal sends to all that run in front: everything has ended soon."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        begun = time.monotonic()
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(END_SECONDS)
        left = psutil.wait_procs(family, END_SECONDS)[1]
        print(f"Ctrl-C: {len(family)} processes ended within {time.monotonic() - begun:.0f} s")
        assert not left, left


@contextmanager
def _running(command: str, folder: Path, env: Mapping[str, str]) -> Iterator[_Demo]:
    said = folder / "said.log"
    with said.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield _Demo(process, said)
    finally:
        if process.poll() is None:
            family = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGKILL)
            for one in family:
                one.kill()
            process.wait()


def _fresh_home(home: Path) -> dict[str, str]:
    """The environment of somebody who has just been given this machine."""
    home.mkdir()
    for name in MIRRORS:
        if (Path.home() / name).is_file():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path.home() / name, home / name)
    ours = ("POINTSMAN_", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith((*ours, "XDG_", "MAKE"))}
    # Maven asks Java, and Java asks the list of users, where home is.
    return {**kept, "HOME": str(home), "MAVEN_OPTS": f"{kept.get('MAVEN_OPTS', '')} -Duser.home={home}".strip()}


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main()
