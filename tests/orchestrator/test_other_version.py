"""A checkpoint that another version of Spark has written: said, and what was live is built anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pointsman.domain.journal import Code
from pointsman.pipeline import run
from pointsman.settings import Settings
from tests.orchestrator.line import Line
from tests.pipeline.feed import random_feed
from tests.tables.stage import eventually

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_a_checkpoint_from_a_newer_version_is_named_and_its_generation_built_anew(
    live_settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SMALL", 0)  # a catch-up leaves a checkpoint at once
    with Line(live_settings, spark) as line:
        line.bench.send(random_feed(1, 50, partitions=1))
        first = line.live()
    offsets = [path for path in Path(first.checkpoint).glob("*/offsets/*") if path.name.isdigit()]
    assert offsets
    for path in offsets:
        version, _, rest = path.read_text().partition("\n")
        assert version.startswith("v")
        path.write_text(f"v99\n{rest}")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    with Line(live_settings, spark) as line:
        second = eventually(line.live, lambda g: g.number == 2, 90)
        assert second.spec == first.spec
        line.comes_to_equal_the_oracle(second)
    entries = [json.loads(value or b"{}") for *_, value in line.bench.read([live_settings.names.journal])]
    [broken] = [entry["msg"] for entry in entries if entry["code"] == Code.BROKEN.value]
    assert "v99" in broken
    assert "newer version of Spark" in broken
