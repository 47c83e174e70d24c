"""Buffers of the state: of every generation that can be alive, and still in the memory they share."""

from __future__ import annotations

import pytest

from pointsman.pipeline import state_store
from pointsman.pipeline.slots import GENEROUS


@pytest.mark.parametrize("state_partitions", [1, 2, 3, 8, 16])
def test_full_buffers_of_all_generations_leave_none_to_be_written_out_early(state_partitions: int) -> None:
    together = GENEROUS * state_partitions * state_store.buffer_mb(state_partitions)
    assert together <= state_store.FLUSHED_FROM


def test_a_buffer_is_neither_tiny_nor_huge() -> None:
    sizes = [state_store.buffer_mb(n) for n in (1, 2, 8, 200)]
    assert sizes == [64, 33, 8, 4]
    assert state_store.conf(2)["spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB"] == "33"
