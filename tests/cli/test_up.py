"""`pointsman up`, on the page alone: it needs no Java, and is supervised like all others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pointsman.broker.embedded import free_port
from pointsman.settings import Settings

pytestmark = pytest.mark.broker


class Up:
    """`pointsman up --only web` in a folder of its own."""

    def __init__(self, settings: Settings, folder: Path, *words: str) -> None:
        self.said = folder / "said"
        self.port = free_port()
        env = {
            **os.environ,
            "POINTSMAN_HOME": str(folder / "home"),
            "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
            "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
            "POINTSMAN_WEB__PORT": str(self.port),
        }
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pointsman", *words, "up", "--only", "web"],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def ready(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith("ready"), f"said {line!r}; {self.text}"
        return line

    @property
    def text(self) -> str:
        return self.said.read_text()

    def child(self) -> psutil.Process:
        [child] = psutil.Process(self.process.pid).children()
        return child

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/livez", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def until(self, holds: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while holds not in self.text:
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def up(live_settings: Settings, tmp_path: Path) -> Iterator[Up]:
    made = Up(live_settings, tmp_path)
    yield made
    made.close()


def gone(process: psutil.Process, seconds: float = 10) -> bool:
    _, alive = psutil.wait_procs([process], seconds)
    return not alive


def test_a_page_that_dies_is_started_again_and_everything_ends_with_ctrl_c(up: Up, tmp_path: Path) -> None:
    assert up.ready() == f"ready http://127.0.0.1:{up.port}"
    assert up.answers()
    assert "the keys of viewers and operators are in" in up.text

    first = up.child()
    first.kill()
    up.until("page: died (by signal 9), starting again in 1 s")
    up.until("page: starting again\nok page: ready after")
    assert up.answers()

    second = up.child()
    begun = time.monotonic()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(10) == 0
    assert time.monotonic() - begun < 10
    assert gone(second, 1)
    assert up.text.rstrip().endswith("ok page: ended")
    assert (tmp_path / "home" / "keys" / "operator").read_text().strip() not in up.text


def test_a_second_start_finds_the_first_and_says_where(up: Up, live_settings: Settings, tmp_path: Path) -> None:
    page = up.ready()
    second = Up(live_settings, tmp_path)
    try:
        assert second.ready() == page
        assert second.process.wait(10) == 0
        assert f"the web already runs here, under process {up.process.pid}: using that one" in second.text
    finally:
        second.close()
    assert up.answers()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of another system does not offer it")
def test_the_page_does_not_outlive_a_killed_parent(up: Up) -> None:
    up.ready()
    child = up.child()
    up.process.kill()
    assert gone(child)


def test_a_port_that_was_chosen_and_is_taken_is_an_error(up: Up, live_settings: Settings, tmp_path: Path) -> None:
    up.ready()
    env = {
        **os.environ,
        "POINTSMAN_HOME": str(tmp_path / "other"),
        "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": live_settings.kafka.bootstrap_servers,
        "POINTSMAN_WEB__PORT": str(up.port),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pointsman", "up", "--only", "web"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert (
        f"error: port {up.port} for the web (web.port, from the variable POINTSMAN_WEB__PORT) is taken" in done.stderr
    )
