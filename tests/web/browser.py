"""A browser script of `web/e2e`, run by a test that does for it what a browser cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

WEB = Path(__file__).parents[2] / "web"
DONE = "done"
Wish = Mapping[str, Any]


class BrowserScript:
    """`node e2e/<script>`, inside `with`. It prints wishes as lines of JSON, and ends after the wish `done`.

    Its stderr, with every claim that held, is in `log`; its complaint is the test's.
    """

    def __init__(self, script: str, log: Path, **env: str) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                ["node", f"e2e/{script}"],
                cwd=WEB,
                env={**os.environ, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )

    def next_wish(self) -> Wish:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._log.read_text()[-4000:]
        wish: Wish = json.loads(line)
        return wish

    def await_wish(self, wish: str) -> None:
        assert self.next_wish() == {"wish": wish}, self._log.read_text()[-4000:]

    def answer(self, **what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def await_end(self) -> None:
        """All that it claims holds."""
        self.await_wish(DONE)
        self.await_exit()

    def await_exit(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # it listens as long as we might speak
        assert self._process.wait(30) == 0, self._log.read_text()[-4000:]

    def __enter__(self) -> BrowserScript:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # the browser too
        self._process.wait()


def run(script: str, log: Path, env: Mapping[str, str], do: Callable[[Wish], Mapping[str, Any] | None]) -> None:
    """Runs the script to its end, granting its wishes: what `do` returns is the answer."""
    with BrowserScript(script, log, **env) as browser:
        while (wish := browser.next_wish())["wish"] != DONE:
            browser.answer(**(do(wish) or {}))
        browser.await_exit()
