"""A standalone Spark cluster of this test's own: a master and two workers of eight slots each."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from pointsman.broker.embedded import dying_with_us, free_port
from tests.tables.stage import eventually

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Standalone:
    master: str  # spark://…
    pages: tuple[str, ...]  # of the master and of each worker


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """Its logs, and what its executors leave behind (`work*`), are in the folder."""
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []
    pages: list[str] = []

    def run(kind: str, *words: str) -> None:
        page = free_port()
        pages.append(f"http://{HOST}:{page}")
        env = {**os.environ, "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m"}
        command = [SPARK_CLASS, f"org.apache.spark.deploy.{kind.lower()}.{kind}", "--host", HOST]
        with (folder / f"{kind}-{len(started)}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [*command, "--webui-port", str(page), *words],
                    env=env,
                    stdout=log,
                    stderr=log,
                    preexec_fn=dying_with_us(),  # noqa: PLW1509
                )
            )

    try:
        run("Master", "--port", str(port))
        eventually(lambda: _listens(port), bool, 60)
        for number in (1, 2):
            work = ["--work-dir", str(folder / f"work{number}")]
            run("Worker", "--cores", "8", "--memory", "1g", *work, f"spark://{HOST}:{port}")
        yield Standalone(f"spark://{HOST}:{port}", tuple(pages))
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=0.5).close()
    except OSError:
        return False
    return True
