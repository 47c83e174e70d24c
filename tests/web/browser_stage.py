"""Everything around the page but the pipeline, as processes of their own; the pipeline's part is played."""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pointsman.broker.tail import Tail
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Entry, Level
from pointsman.domain.verdict import Outcome, Verdict
from pointsman.settings import Settings
from tests.tables.stage import KEY_OF_VIEWERS, Pipeline, TablesProcess, account, final, user
from tests.web import browser, processes
from tests.web.processes import OPERATOR_KEY, WebProcess

THREE_DAYS_MS = 3 * 86_400_000
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


class PlayedPipeline(Pipeline):
    """Heartbeats while it is `alive`, and a verdict for every control message."""

    def __init__(self, settings: Settings, past_seconds: int = 0) -> None:
        """`past_seconds` of heartbeats are there at once, for the charts."""
        super().__init__(settings)
        self.news: dict[str, Any] = {}
        self.alive = threading.Event()
        self.alive.set()
        self._ended = threading.Event()
        now = time.time()
        self._report(self.status(now - past_seconds + second) for second in range(past_seconds))
        self._threads = [threading.Thread(target=self._beat), threading.Thread(target=self._answer)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def status(self, at: float) -> dict[str, Any]:
        """A status record; `news` replaces parts of it."""
        topics = {f"{s.name}Topic": s.topic for s in self.settings.spec().sources}
        live = {"generation": self.catalog.live, "state": "SERVING" if self.catalog.live else "STARTING"}
        words = {"joinType": "left", "lastApplied": "", "progress": "", "lastError": ""}
        wave = math.sin(at / 40) + 0.4 * math.sin(at / 7)
        figures = {"rate": 900 + 80 * wave, "lag": max(0, round(4 * wave)), "freshness": 0.02 + 0.008 * abs(wave)}
        return {**topics, **words, **live, **figures, "at": at, **self.news}

    def _beat(self) -> None:
        while not self._ended.wait(0.5):
            if self.alive.is_set():
                self._report([self.status(time.time())])

    def _report(self, records: Iterable[dict[str, Any]]) -> None:
        self.write(self.settings.names.status, ((b"status", json.dumps(record).encode()) for record in records))

    def _answer(self) -> None:
        topic = self.settings.control.topic
        with Tail(self.settings.kafka, {topic: {0: 0}}) as tail:
            while not self._ended.is_set():
                for _, partition, offset, _, value in tail.poll(0.2):
                    request = json.loads(value or b"{}").get("requestId")
                    verdict = Verdict(partition, offset, Outcome.APPLIED, "as asked", 1, 20, time.time(), request)
                    record = (verdict.key.encode(), json.dumps(verdict.to_json()).encode())
                    self.write(self.settings.names.verdicts, [record])

    def tell(self, entry: Entry) -> None:
        """Writes it to the journal."""
        self.write(self.settings.names.journal, [(None, json.dumps(entry.to_json()).encode())])

    def dead_letter(self, offset: int, payload: bytes, detail: str = "Unexpected end") -> None:
        where = {"source": "users", "topic": "users", "partition": 0, "offset": offset, "ts": 1_700_000_000_000}
        why = {"generation": 1, "reason": "not-json", "detail": detail, "length": len(payload)}
        letter = {**where, **why, "payload": base64.b64encode(payload).decode()}
        self.write(self.settings.names.dead_letters, [(f"users-0-{offset}".encode(), json.dumps(letter).encode())])

    def hostile(self, texts: Sequence[str]) -> None:
        """Puts each into every text column of the live generation, and the first into whatever else people read."""
        live = self.catalog.generations[self.catalog.live or 1]
        columns = ("userId", "name", "email", "accountType")
        rows = [user(i, live.number) | account(i) | dict.fromkeys(columns, text) for i, text in enumerate(texts)]
        self.write(live.final, (final(row["userId"], 1, row) for row in rows))
        names, text = self.settings.names, texts[0]
        refused = Verdict(9, 9, Outcome.REFUSED, text, None, 1, time.time(), text)
        self.write(names.verdicts, [(refused.key.encode(), json.dumps(refused.to_json()).encode())])
        self.tell(Entry(time.time(), Level.INFO, "before", "before all that"))
        self.tell(Entry(time.time(), Level.WARN, text, text))
        self.dead_letter(1000, text.encode(), text)


def two_thousand(pipeline: Pipeline, generation: Generation) -> None:
    """Users with an account each, five of whom were last heard of three days after the others."""
    pipeline.fill(generation, 2000)
    later = (user(i, generation.number) | account(i) for i in range(5))
    pipeline.write(generation.final, (final(row["userId"], THREE_DAYS_MS, row) for row in later))


class BrowserStage:
    """Two generations, the first one live, five dead letters, and the servers that show them."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        fill: Callable[[Pipeline, Generation], None] = two_thousand,
        past_seconds: int = 0,
    ) -> None:
        self.settings, self.folder = settings, folder
        self.pipeline = PlayedPipeline(settings, past_seconds)
        for number in (1, 2):
            fill(self.pipeline, self.pipeline.build(number))
        self.pipeline.publish(1)
        for offset in range(5):
            self.pipeline.dead_letter(offset, b'{"a":')
        self.tables = TablesProcess(settings, folder)
        self.tables_url = f"http://127.0.0.1:{self.tables.port}"
        self.web = WebProcess(folder, self.tables_url, processes.variables(settings, folder))
        self.web.await_ready()
        self.tables.await_ready()

    def close(self) -> None:
        self.pipeline.close()
        self.web.kill()
        self.tables.kill()

    def run(self, script: str, **env: str) -> None:
        """Runs a browser script, playing the pipeline and killing servers as it asks for."""
        variables = {
            "WEB_URL": self.web.url,
            "VIEWER_KEY": KEY_OF_VIEWERS,
            "OPERATOR_KEY": OPERATOR_KEY,
            "HOSTILE": json.dumps(HOSTILE),
            **env,
        }
        browser.run(script, self.folder / "browser.log", variables, self._do)

    def _do(self, wish: browser.Wish) -> None:
        match wish["wish"], wish.get("what"):
            case "publish", _:
                self.pipeline.publish(wish["number"])
            case "linger", _:
                old = self.pipeline.catalog.generations[3 - (self.pipeline.catalog.live or 1)]
                lingering = replace(old, state=State.LINGERING, linger_until=time.time() + 60)
                self.pipeline.say(self.pipeline.catalog.put(lingering))
            case "hostile", _:
                self.pipeline.hostile(HOSTILE)
            case "stranger", _:
                live = self.pipeline.catalog.generations[self.pipeline.catalog.live or 1]
                self.pipeline.write(live.final, [final("stranger", 1, {"userId": "stranger"})])
            case "news", _:
                self.pipeline.news = wish["status"]
            case "build", _:
                self.pipeline.build(wish["number"])
            case "forget", _:
                self.pipeline.forget(wish["number"])
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
