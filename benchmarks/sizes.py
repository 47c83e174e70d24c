"""How large each measurement is: `FULL` for figures to quote, `QUICK` to try the code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Seconds, records and keys of every part. The warm-up is fed like the rest, and not counted."""

    rate: int = 1000  # records per second of every latency measurement
    latency_seconds: float = 300
    latency_warm_up: float = 60
    peer_seconds: float = 60  # latency of everything that is compared with
    peer_warm_up: float = 30
    floor_seconds: float = 10
    probe_keys: int = 100_000  # keys that the latency feed draws from
    keys: int = 1_000_000  # throughput: this many users and as many accounts
    warm_records: int = 400_000  # throughput: real-time records before the wave that counts
    memory_keys: tuple[int, ...] = (100_000, 1_000_000, 4_000_000)
    memory_wave: int = 600_000  # updates, over all keys, for the cost per record
    partitions: tuple[int, ...] = (1, 6, 12, 24)
    partition_seconds: float = 120
    partition_counted: float = 60  # of those, the last ones are "once warm"
    idle_seconds: float = 30
    stall_interval: float = 20  # seconds between checkpoints while stalls are measured
    stall_boundaries: int = 6
    switch_rows: tuple[int, ...] = (100_000, 1_000_000)  # switch: this many users and as many accounts
    switch_warm_up: float = 120  # of the pipeline, fed: until its compiler has little left to do
    switch_normal: float = 30  # seconds of the old generation's normal life before the switch
    native_cycles_ms: tuple[int, ...] = (50, 1000)
    tables_cycles_ms: tuple[int, ...] = (50, 20)  # of the tables server, and of native Deephaven beside it
    line_warm_up: float = 240  # of the pipeline: its first checkpoint, in cold code, falls into this and a server's
    tables_warm_up: float = 90  # of each server
    tables_seconds: float = 60  # of native Deephaven, and of each number of viewers; the line counts `latency_seconds`
    tables_idle: float = 8
    tables_viewers: tuple[int, ...] = (1, 10, 50)
    tables_rows: int = 1_000_000  # of the generations that are read and switched
    tables_switches: int = 20
    heap_rows: int = 200_000
    heap_switches: int = 50
    pause_seconds: float = 60  # a tables server is stopped this long, across a switch
    outage_seconds: float = 30  # the broker is gone this long
    patience: float = 900  # longest wait for anything


FULL = Sizes()
QUICK = Sizes(
    latency_seconds=6,
    latency_warm_up=4,
    peer_seconds=4,
    peer_warm_up=3,
    floor_seconds=2,
    probe_keys=2_000,
    keys=20_000,
    warm_records=4_000,
    memory_keys=(5_000, 20_000),
    memory_wave=10_000,
    partitions=(1, 6),
    partition_seconds=8,
    partition_counted=4,
    idle_seconds=3,
    stall_interval=5,
    stall_boundaries=1,
    switch_rows=(5_000, 20_000),
    switch_warm_up=4,
    switch_normal=4,
    native_cycles_ms=(50,),
    tables_cycles_ms=(50,),
    line_warm_up=2,
    tables_warm_up=4,
    tables_seconds=4,
    tables_idle=2,
    tables_viewers=(1, 3),
    tables_rows=20_000,
    tables_switches=4,
    heap_rows=2_000,
    heap_switches=7,
    pause_seconds=3,
    outage_seconds=3,
    patience=120,
)
