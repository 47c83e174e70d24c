"""The orchestrator's Engine on Spark: many generations in one session, one run each."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from pointsman.broker.topics import TopicAdmin
from pointsman.domain.errors import NoRoom, PipelineError
from pointsman.domain.generation import Generation, State
from pointsman.domain.progress import Phase, Progress
from pointsman.domain.spec import JoinType, Source
from pointsman.pipeline import slots
from pointsman.pipeline.queries import Queries
from pointsman.pipeline.rehearsal import Rehearsal
from pointsman.pipeline.run import GenerationRun
from pointsman.pipeline.session import available_slots
from pointsman.settings import Settings

STARTS_FILE = "starts.json"
CLOSE_SECONDS = 45.0
LATE_SECONDS = 3.0  # for an executor that comes as another goes


class SparkEngine:
    """Owns its runs; the session belongs to who made it, and so does a rehearsal in it."""

    def __init__(
        self, spark: SparkSession, settings: Settings, admin: TopicAdmin, rehearsal: Rehearsal | None = None
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._admin = admin
        self._runs: dict[int, GenerationRun] = {}
        self._rehearsal = rehearsal

    def start(self, generation: Generation) -> None:
        if generation.spec.join is JoinType.ASOF and self._settings.pipeline.mode == "micro-batch":
            raise PipelineError(
                "the as-of join runs in real-time mode only, and pipeline.mode is micro-batch",
                'set pipeline.mode = "real-time", or choose another join type',
            )
        self._check_room(generation)
        self.resume(generation)

    def _check_room(self, generation: Generation) -> None:
        """Real-time tasks hold their slots: a build that cannot get all of its own would wait for ever."""
        if self._settings.pipeline.mode == "micro-batch":
            return
        wanted = sum(self._slots(g) for g in (*(run.generation for run in self._runs.values()), generation))
        available = available_slots(self._spark, wanted, LATE_SECONDS)
        if wanted > available:
            raise NoRoom(
                f"generation {generation.number} needs {self._slots(generation)} task slots beside those that run; "
                f"together that is {wanted}, and there are {available}",
                "add executors or cores, or lower cutover.max_lingering",
            )

    def _slots(self, generation: Generation) -> int:
        existing = self._admin.existing()
        partitions = sum(existing.get(source.topic, 0) for source in generation.spec.sources)
        return slots.needed(partitions, self._settings.pipeline.shuffle_partitions)

    def resume(self, generation: Generation) -> None:
        if generation.number in self._runs:
            return
        starts, is_new = self._starts(generation)
        is_new = is_new and generation.state is State.BUILDING
        queries = Queries(self._spark, self._settings, generation, starts, is_new)
        run = self._runs[generation.number] = GenerationRun(queries, self._admin, self._any_serves)
        run.start()
        if self._rehearsal and self._settings.pipeline.mode == "real-time":
            self._rehearsal.begin(queries, lambda: run.progress().ready)

    def _any_serves(self) -> bool:
        return any(run.progress().ready for run in list(self._runs.values()))

    def progress(self, number: int) -> Progress:
        run = self._runs.get(number)
        return run.progress() if run else Progress(Phase.DOWN, error="not running")

    def run(self, number: int) -> GenerationRun | None:
        return self._runs.get(number)

    def stop(self, number: int) -> bool:
        run = self._runs.get(number)
        if run is None:
            return True
        run.stop()
        if not run.stopped:
            return False
        del self._runs[number]
        return True

    def close(self) -> None:
        for run in self._runs.values():
            run.stop()
        deadline = time.monotonic() + CLOSE_SECONDS
        for number, run in list(self._runs.items()):
            run.join(max(0.0, deadline - time.monotonic()))
            self.stop(number)

    def _starts(self, generation: Generation) -> tuple[Mapping[str, Mapping[int, int]], bool]:
        """Where each source starts, settled once and kept with the checkpoint: `latest` must mean one instant
        for both queries, also when the build is resumed. And whether they were settled just now."""
        jvm = self._spark._jvm
        assert jvm is not None
        path = jvm.org.apache.hadoop.fs.Path(f"{generation.checkpoint}/{STARTS_FILE}")
        files = path.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())
        if files.exists(path):
            stream = files.open(path)
            text = bytes(stream.readAllBytes()).decode()
            stream.close()
            return {s: {int(p): o for p, o in offsets.items()} for s, offsets in json.loads(text).items()}, False
        starts = {s.name: self._first_offsets(s) for s in generation.spec.sources}
        out = files.create(path, True)
        out.write(bytearray(json.dumps(starts).encode()))
        out.close()
        return starts, True

    def _first_offsets(self, source: Source) -> dict[int, int]:
        if source.start == "latest":
            return self._admin.end_offsets([source.topic])[source.topic]
        if isinstance(source.start, int):
            return self._admin.offsets_at(source.topic, source.start)
        return self._admin.start_offsets([source.topic])[source.topic]
