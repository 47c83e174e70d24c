"""`pointsman pipeline` killed in mid-stream, again and again: nothing is lost, nothing is shown twice."""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman.broker.newest import newest_catalog
from pointsman.domain.generation import Generation
from tests.pipeline.conftest import Bench
from tests.pipeline.feed import random_feed
from tests.pipeline.oracle import final_rows
from tests.tables.stage import TablesProcess, eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]
POINTSMAN = str(Path(sys.executable).with_name("pointsman"))


def start_pipeline(b: Bench, folder: Path, **env: str) -> TablesProcess:
    variables = {f"POINTSMAN_SOURCES__{name.upper()}__TOPIC": s.topic for name, s in b.settings.sources.items()}
    variables |= {"POINTSMAN_SPARK__DRIVER_MEMORY": "1g", "POINTSMAN_PIPELINE__CHECKPOINT_INTERVAL_SECONDS": "5"}
    return TablesProcess(b.settings, folder, [POINTSMAN, "pipeline"], {**variables, **env})


def await_ready(process: TablesProcess) -> None:
    """It has taken over: what comes now is no work of a Java machine that outlives its killed owner by a second."""
    assert process.process.stdout is not None
    assert process.process.stdout.readline().startswith(b"ready"), process.log


def live_generation(b: Bench) -> Generation | None:
    catalog = newest_catalog(b.settings, b.admin)
    return catalog.live_generation if catalog else None


def written_to(b: Bench, generation: Generation) -> int:
    return b.admin.end_offsets([generation.final])[generation.final][0]


def stream(b: Bench, generation: Generation, seeds: Iterator[int]) -> None:
    """Feeds it until it has written a hundred rows more: what a catch-up finds, it folds into fewer."""
    enough, deadline = written_to(b, generation) + 100, time.monotonic() + 60
    while written_to(b, generation) < enough:
        assert time.monotonic() < deadline
        b.send(random_feed(next(seeds), 60, partitions=2))
        time.sleep(0.1)  # a stream, not a flood: a pipeline that is starting would never be done with catching up


def test_killed_in_mid_stream_the_changelogs_still_equal_the_oracle(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    seeds = itertools.count(seed)
    b = bench()
    b.make_topics(2)
    b.send(random_feed(next(seeds), 500, partitions=2))
    process = start_pipeline(b, tmp_path)
    try:
        generation = eventually(lambda: live_generation(b), lambda found: found is not None, 120)
        assert generation is not None
        for _ in range(2):
            await_ready(process)
            stream(b, generation, seeds)
            process.signal(signal.SIGKILL)
            process.process.wait(10)
            b.send(random_feed(next(seeds), 100, partitions=2))
            process = start_pipeline(b, tmp_path)
        await_ready(process)
        b.send(random_feed(next(seeds), 100, partitions=2))
        expected = final_rows(b.records(), generation.spec)
        eventually(lambda: b.final(generation), lambda found: found == expected, 120)

        seen: dict[bytes | None, set[bytes | None]] = defaultdict(set)
        for _, _, _, key, value in b.read([*generation.views.values(), b.settings.names.dead_letters]):
            seen[key].add(value)
        assert len(seen) == len(b.records())
        assert all(len(values) == 1 for values in seen.values()), "a replayed row must be the row it was"

        versions: dict[bytes | None, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for _, _, _, key, value in b.read([generation.final]):
            row = json.loads(value or b"")
            versions[key][row["_version"]].add(row["_op"] + str(sorted(row.items())))
        newest = {key.decode(): max(found) for key, found in versions.items() if key}
        assert all(newest[key] == row["_version"] for key, row in expected.items())
        assert process.stop() == 0
    finally:
        process.kill()
