"""`pointsman demo` as a newcomer meets it: one command, a ticking row, three things to try, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables]
# What a terminal has set for another Pointsman must not reach the demo, nor what it tells people to type.
ELSEWHERE = {**os.environ, "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": "kafka.invalid:9093"}
TICKING = re.compile(r"first ticking row (\d+) s after the start; (\d+) rows now")


class Demo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = folder / "said"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pointsman", "demo"],
                cwd=folder,
                env=ELSEWHERE,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    @property
    def text(self) -> str:
        return self.said.read_text()

    def until(self, holds: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while not (found := re.search(holds, self.text)):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)
        return found[0]

    def run(self, command: str, *more: str) -> subprocess.CompletedProcess[str]:
        """A command as the demo has printed it, in another terminal in the same folder."""
        return subprocess.run(
            [*shlex.split(f"env {command}"), *more],
            cwd=self.folder,
            env=ELSEWHERE,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    made = Demo(tmp_path)
    yield made
    made.close()


def test_one_command_shows_a_ticking_row_and_what_it_says_to_try_works(demo: Demo) -> None:
    ticking = TICKING.search(demo.until(TICKING.pattern, 240))
    assert ticking
    assert int(ticking[2]) > 200
    page = re.search(r"^ready (http://127\.0\.0\.1:\d+)/#key=\S+$", demo.text, re.MULTILINE)
    assert page, demo.text

    demo.until("Ctrl-C here ends everything", 10)
    curated, inner, typo = re.findall(r"^     (.* switch .*)$", demo.text, re.MULTILINE)
    assert json.loads(demo.run(curated, "--json").stdout)["verdict"] == "applied"
    assert demo.run(inner).stdout.startswith("applied after ")
    refused = demo.run(typo)
    assert refused.returncode == 1
    assert "topic 'users_typo' does not exist" in refused.stdout
    demo.until("control message refused: .*topic 'users_typo' does not exist", 10)

    doctor = json.loads(demo.run(typo.partition(" switch ")[0], "doctor", "--json").stdout)
    levels = {finding["check"]: (finding["level"], finding["says"]) for finding in doctor["findings"]}
    assert levels["tables"][0] == levels["console"][0] == "ok", levels

    again = subprocess.run(
        [sys.executable, "-m", "pointsman", "demo"],
        cwd=demo.folder,
        env=ELSEWHERE,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (again.returncode, again.stdout.partition("/#key=")[0]) == (0, page[0].partition("/#key=")[0])

    family = psutil.Process(demo.process.pid).children(recursive=True)
    assert len(family) >= 6  # five processes, and the Java machines of two of them
    begun = time.monotonic()
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(15) == 0
    assert time.monotonic() - begun < 11, demo.text
    assert psutil.wait_procs(family, 5)[1] == []
    assert "killed" not in demo.text
