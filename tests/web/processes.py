"""`pointsman <verb>` as a process of its own, killed and started again as a machine would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pointsman.broker.embedded import free_port
from pointsman.settings import Settings

POINTSMAN = str(Path(sys.executable).with_name("pointsman"))
OPERATOR_KEY = "an-operator-key-for-tests"


class Verb:
    """Started the same way every time, on the ports and folders that its environment names."""

    def __init__(self, folder: Path, *words: str, env: Mapping[str, str]) -> None:
        self._command = [POINTSMAN, *words]
        self._folder, self._env = folder, env
        self._log = folder / f"{words[0]}.log"
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                env={**os.environ, **self._env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
            )

    def await_ready(self) -> str:
        """Returns when it says that it is ready: the one line that every verb has on its stdout."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line.startswith("ready"), f"{self._command[1]} said {line!r}; {self.log[-2000:]}"
        return line.strip()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """kill -9, and gone when this returns."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def revive(self) -> None:
        """Starts it anew; ready when this returns."""
        self.process = self._start()
        self.await_ready()


class WebProcess(Verb):
    """`pointsman web`, on a port that it keeps over restarts."""

    def __init__(self, folder: Path, tables_url: str, env: Mapping[str, str]) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        own = {
            "POINTSMAN_WEB__PORT": str(port),
            "POINTSMAN_WEB__OPERATOR_KEY": OPERATOR_KEY,
            "POINTSMAN_WEB__TABLES_URL": tables_url,
        }
        super().__init__(folder, "web", env={**env, **own})


def variables(settings: Settings, folder: Path) -> dict[str, str]:
    """What every verb must be told to live on the broker and the topics of one test."""
    return {
        "POINTSMAN_HOME": str(folder),
        "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
        "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
        "POINTSMAN_CONTROL__TOPIC": settings.control.topic,
    }
