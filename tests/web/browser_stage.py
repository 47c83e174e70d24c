"""Everything around the page but the pipeline, as processes of their own; the pipeline's part is played."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from pointsman.broker.embedded import free_port
from pointsman.broker.tail import Tail
from pointsman.domain.generation import State
from pointsman.domain.verdict import Outcome, Verdict
from pointsman.settings import Settings
from tests.tables.stage import KEY_OF_VIEWERS, Pipeline, TablesProcess, account, final, user

OPERATOR_KEY = "an-operator-key-for-tests"
WEB = Path(__file__).parents[2] / "web"
HOSTILE = [
    "hostile <img src=x onerror=alert(1)>",
    "<script>alert('hostile')</script>",
    "=cmd()|'hostile'!A0",
    "@hostile",
    "+hostile",
    "hostile \u202e\u05e9\u05dc\u05d5\u05dd \U0001f642",
    "hostile {{constructor.constructor('alert(1)')()}}",
    "hostile " + "x" * 10_000,
]


class WebProcess:
    """`pointsman web` as a process of its own, on a port that it keeps over restarts."""

    def __init__(self, settings: Settings, tables_url: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder / "web.log"
        self._env = {
            "POINTSMAN_HOME": str(folder),
            "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
            "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
            "POINTSMAN_CONTROL__TOPIC": settings.control.topic,
            "POINTSMAN_WEB__PORT": str(self.port),
            "POINTSMAN_WEB__OPERATOR_KEY": OPERATOR_KEY,
            "POINTSMAN_WEB__TABLES_URL": tables_url,
        }
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [str(Path(sys.executable).with_name("pointsman")), "web"],
                env={**os.environ, **self._env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._log.parent,
            )
        assert process.stdout is not None
        line = process.stdout.readline().decode().strip()
        assert line == f"ready {self.url}", f"said {line!r}; {self._log.read_text()[-2000:]}"
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def revive(self) -> None:
        self.process = self._start()


class PlayedPipeline(Pipeline):
    """Heartbeats while it is `alive`, and a verdict for every control message."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.alive = threading.Event()
        self.alive.set()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._beat), threading.Thread(target=self._answer)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _beat(self) -> None:
        spec = self.settings.spec()
        while not self._ended.wait(0.5):
            if self.alive.is_set():
                status = {f"{s.name}Topic": s.topic for s in spec.sources}
                live = {"generation": self.catalog.live, "state": "SERVING" if self.catalog.live else "STARTING"}
                figures = {"rate": 900.0, "lag": 3, "freshness": 0.02, "at": time.time()}
                record = {**status, "joinType": "left", "lastApplied": "", "progress": "", "lastError": ""}
                self.write(
                    self.settings.names.status, [(b"status", json.dumps({**record, **live, **figures}).encode())]
                )

    def _answer(self) -> None:
        topic = self.settings.control.topic
        with Tail(self.settings.kafka, {topic: {0: 0}}) as tail:
            while not self._ended.is_set():
                for _, partition, offset, _, value in tail.poll(0.2):
                    request = json.loads(value or b"{}").get("requestId")
                    verdict = Verdict(partition, offset, Outcome.APPLIED, "as asked", 1, 20, time.time(), request)
                    record = (verdict.key.encode(), json.dumps(verdict.to_json()).encode())
                    self.write(self.settings.names.verdicts, [record])

    def dead_letters(self, count: int) -> None:
        def letter(offset: int) -> tuple[bytes, bytes]:
            where = {"source": "users", "topic": "users", "partition": 0, "offset": offset, "ts": 1_700_000_000_000}
            why = {
                "generation": 1,
                "reason": "not-json",
                "detail": "Unexpected end",
                "payload": "eyJhIjo=",
                "length": 5,
            }
            return f"users-0-{offset}".encode(), json.dumps(where | why).encode()

        self.write(self.settings.names.dead_letters, (letter(i) for i in range(count)))


class BrowserStage:
    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.pipeline = PlayedPipeline(settings)
        for number in (1, 2):
            self.pipeline.fill(self.pipeline.build(number), 2000)
        self.pipeline.publish(1)
        self.pipeline.dead_letters(5)
        self.tables = TablesProcess(settings, folder)
        self.tables_url = f"http://127.0.0.1:{self.tables.port}"
        self.web = WebProcess(settings, self.tables_url, folder)
        self.tables.await_ready()

    def close(self) -> None:
        self.pipeline.close()
        self.web.kill()
        self.tables.kill()

    def run(self, script: str, **env: str) -> None:
        """Runs a browser script, doing what it asks for; its complaint is the test's."""
        variables = {
            "WEB_URL": self.web.url,
            "VIEWER_KEY": KEY_OF_VIEWERS,
            "OPERATOR_KEY": OPERATOR_KEY,
            "HOSTILE": json.dumps(HOSTILE),
            **env,
        }
        log = self.folder / "browser.log"
        with log.open("wb") as errors:
            browser = subprocess.Popen(
                ["node", f"e2e/{script}"],
                cwd=WEB,
                env={**os.environ, **variables},
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
                    self._do(wish)
                    browser.stdin.write(b"{}\n")
                    browser.stdin.flush()
            assert (browser.wait(30), done) == (0, True), log.read_text()[-4000:]
        finally:
            if browser.poll() is None:
                os.killpg(browser.pid, signal.SIGKILL)

    def _do(self, wish: dict[str, Any]) -> None:
        match wish["wish"], wish.get("what"):
            case "publish", _:
                self.pipeline.publish(wish["number"])
            case "linger", _:
                old = self.pipeline.catalog.generations[3 - (self.pipeline.catalog.live or 1)]
                lingering = replace(old, state=State.LINGERING, linger_until=time.time() + 60)
                self.pipeline.say(self.pipeline.catalog.put(lingering))
            case "hostile", _:
                rows = [user(i, 1) | account(i) | {"userId": f"z{i}", "name": text} for i, text in enumerate(HOSTILE)]
                live = self.pipeline.catalog.generations[1]
                self.pipeline.write(live.final, (final(row["userId"], 1, row) for row in rows))
            case "kill", "pipeline":
                self.pipeline.alive.clear()
            case "revive", "pipeline":
                self.pipeline.alive.set()
            case "kill", "web":
                self.web.kill()
            case "revive", "web":
                self.web.revive()
            case "kill", "tables":
                self.tables.kill()
                self.tables.process.wait()
            case "revive", "tables":
                port = self.tables_url.rpartition(":")[2]
                self.tables = TablesProcess(self.settings, self.folder, env={"POINTSMAN_TABLES__PORT": port})
                self.tables.await_ready()
            case unknown:
                raise AssertionError(f"the browser asks for {unknown}")
