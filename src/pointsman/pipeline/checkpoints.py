"""Where generations keep their checkpoints: any file system that Spark can write to."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from pointsman.settings import Settings


class SparkCheckpoints:
    """The orchestrator's Checkpoints, through Hadoop's file systems: a folder or a URL."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._root = settings.checkpoints
        self._prefix = settings.topics.prefix

    def place(self, number: int) -> str:
        return f"{self._root}/{self._prefix}g{number}"

    def delete(self, number: int) -> None:
        path, files = self._open(self.place(number))
        files.delete(path, True)

    def numbers(self) -> frozenset[int]:
        path, files = self._open(self._root)
        if not files.exists(path):
            return frozenset()
        names = (str(status.getPath().getName()) for status in files.listStatus(path))
        found = (re.fullmatch(re.escape(self._prefix) + r"g(\d+)", name) for name in names)
        return frozenset(int(match[1]) for match in found if match)

    def _open(self, place: str) -> tuple[Any, Any]:
        return _opened(self._spark, place)


def forget_unfinished(spark: SparkSession, place: str) -> None:
    """Removes the checkpoint of a query that did not come to the end of its first batch: Spark goes on from none such.

    A real-time batch writes its offsets at its end, minutes after the first state.
    """
    offsets, files = _opened(spark, f"{place}/offsets")
    written = files.listStatus(offsets) if files.exists(offsets) else ()
    if not any(str(found.getPath().getName()).isdigit() for found in written):
        files.delete(offsets.getParent(), True)


def _opened(spark: SparkSession, place: str) -> tuple[Any, Any]:
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(place)
    return path, path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
