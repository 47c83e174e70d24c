"""A browser script of `web/e2e`, run by a test that does for it what a browser cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

WEB = Path(__file__).parents[2] / "web"
Wish = Mapping[str, Any]


def run(script: str, log: Path, env: Mapping[str, str], do: Callable[[Wish], Mapping[str, Any] | None]) -> None:
    """Runs the script to its end, granting its wishes; its complaint is the test's.

    A wish is a line of JSON on its stdout, and what `do` returns is the answer; `done` is its last one. Its stderr,
    with every claim that held, is in `log`.
    """
    with log.open("wb") as errors:
        browser = subprocess.Popen(
            ["node", f"e2e/{script}"],
            cwd=WEB,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    assert browser.stdin is not None
    assert browser.stdout is not None
    done = False
    try:
        for line in browser.stdout:
            wish = json.loads(line)
            done = wish["wish"] == "done"
            if not done:
                browser.stdin.write(json.dumps(do(wish) or {}).encode() + b"\n")
                browser.stdin.flush()
        assert (browser.wait(30), done) == (0, True), log.read_text()[-4000:]
    finally:
        if browser.poll() is None:
            os.killpg(browser.pid, signal.SIGKILL)
