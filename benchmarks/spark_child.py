"""The pipeline process under measurement: one session, generations started and stopped by commands on stdin.

    {"do": "start", "number": 1}                  a whole generation, as `pointsman pipeline` runs it
    {"do": "start", "number": 1, "only": "join"}  its join query alone: what other systems are asked to do
    {"do": "stop", "number": 1}

It says `open` when the session is there, `progress` whenever a generation's progress has changed, and `batch` when a
query has ended a batch. It ends with its input.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from benchmarks.ground import make_generation
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.progress import Phase
from pointsman.pipeline.engine import SparkEngine
from pointsman.pipeline.queries import Pace, Queries
from pointsman.pipeline.rehearsal import Rehearsal
from pointsman.pipeline.session import open_session
from pointsman.settings import Settings

speaking = threading.Lock()


def say(event: str, **what: Any) -> None:
    with speaking:
        print(json.dumps({"event": event, "at": time.time(), **what}), flush=True)


class Batches(StreamingQueryListener):
    """Says what Spark reports at the end of a batch: durations, and the size of the state."""

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        progress = json.loads(event.progress.json)
        wanted = ("name", "batchId", "numInputRows", "batchDuration", "durationMs", "stateOperators")
        say("batch", **{key: progress.get(key) for key in wanted})

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        if event.exception:
            say("died", error=event.exception[:2000])


class JoinAlone:
    """The join query of a generation without its views and without anyone who follows it."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._query = queries.start("join", Pace.CATCH_UP)
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _go_on(self) -> None:
        number = self._queries.generation.number
        say("progress", number=number, phase=Phase.CATCHING_UP.value, ready=False)
        self._query.awaitTermination()
        self._query = self._queries.start("join", Pace.LIVE)
        say("progress", number=number, phase=Phase.REAL_TIME.value, ready=True, lag=0)

    def stop(self) -> None:
        self._query.stop()


class Stage:
    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._rehearsal = Rehearsal()
        self._engine = SparkEngine(spark, settings, TopicAdmin(settings), self._rehearsal)
        self._alone: dict[int, JoinAlone] = {}
        self._watched: set[int] = set()
        threading.Thread(target=self._watch, daemon=True).start()

    def perform(self, command: dict[str, Any]) -> None:
        number = command["number"]
        if command["do"] == "stop":
            self._watched.discard(number)
            alone = self._alone.pop(number, None)
            if alone:
                alone.stop()
            while not self._engine.stop(number):
                time.sleep(0.01)
            say("stopped", number=number)
        elif command.get("only") == "join":
            generation = make_generation(self._settings, number)
            self._alone[number] = JoinAlone(Queries(self._spark, self._settings, generation, {}))
        else:
            self._engine.start(make_generation(self._settings, number))
            self._watched.add(number)

    def close(self) -> None:
        for alone in self._alone.values():
            alone.stop()
        self._rehearsal.end()
        self._engine.close()

    def _watch(self) -> None:
        said: dict[int, Any] = {}
        while True:
            time.sleep(0.05)
            for number in list(self._watched):
                p = self._engine.progress(number)
                now = (p.phase, p.ready, p.lag, p.error)
                if said.get(number) != now:
                    said[number] = now
                    say("progress", number=number, phase=p.phase.value, ready=p.ready, lag=p.lag, error=p.error)


def main() -> None:
    settings = Settings.model_validate_json(Path(sys.argv[1]).read_text())
    spark = open_session(settings, int(sys.argv[2]))
    spark.streams.addListener(Batches())
    stage = Stage(spark, settings)
    say("open")
    for line in sys.stdin:
        try:
            stage.perform(json.loads(line))
        except Exception as error:  # noqa: BLE001 whatever it is, who measures must hear of it
            say("failed", error=f"{type(error).__name__}: {error}"[:2000])
    stage.close()
    spark.stop()


if __name__ == "__main__":
    main()
