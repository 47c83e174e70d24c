"""Where the join keeps its state: RocksDB, and the memory that all generations of a session share. Pure arithmetic."""

from __future__ import annotations

from pointsman.pipeline.slots import GENEROUS

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MEMORY_MB, PART_FOR_WRITES = 512, 0.6
FLUSHED_FROM = MEMORY_MB * PART_FOR_WRITES * 7 / 8  # where RocksDB begins to write out what is not full
LEAST_BUFFER_MB, MOST_BUFFER_MB = 4, 64


def conf(state_partitions: int) -> dict[str, str]:
    """Spark settings for it."""
    rocksdb = {
        "changelogCheckpointing.enabled": "true",
        "boundedMemoryUsage": "true",
        "maxMemoryUsageMB": str(MEMORY_MB),
        "writeBufferCacheRatio": str(PART_FOR_WRITES),
        "writeBufferSizeMB": str(buffer_mb(state_partitions)),
        "trackTotalNumberOfRows": "false",
    }
    store = {"providerClass": PROVIDER, "checkpointFormatVersion": "2"}
    store |= {f"rocksdb.{name}": value for name, value in rocksdb.items()}
    return {f"spark.sql.streaming.stateStore.{name}": value for name, value in store.items()}


def buffer_mb(state_partitions: int) -> int:
    """Every state partition of a generation fills a buffer of this size. With up to 16, those of all generations fit.

    A generation to which nothing comes keeps its buffers. Where they left no room, what a new one has written would be
    written out after every few records, and the many small files made into large ones, again and again.
    """
    room = FLUSHED_FROM / (GENEROUS * state_partitions)
    return int(min(MOST_BUFFER_MB, max(LEAST_BUFFER_MB, room)))
