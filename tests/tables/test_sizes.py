"""What a page is told of the sizes of its tables, beside the rows that it looks at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import pytest
from deephaven_core.proto import table_pb2
from pydeephaven._table_ops import FetchTableOp

from pointsman.settings import Settings

from .stage import Pipeline, TablesProcess, Viewer, becomes, final, viewer

pytestmark = [pytest.mark.broker, pytest.mark.tables]
OPENED = 200
# Deephaven reads what is small beside the cycle, and between two cycles only when that has failed twice. On a busy
# machine it does: here always.
BETWEEN_CYCLES = "-XX:TieredStopAtLevel=1 -DConstructSnapshot.maxConcurrentAttempts=0"


class Told:
    """The stream of sizes that every page has open. By the bytes of a table's ticket."""

    def __init__(self, client: Viewer) -> None:
        self.sizes: dict[bytes, int] = {}
        stub = client.session.table_service._grpc_table_stub
        request = table_pb2.ExportedTableUpdatesRequest()
        self._stream = stub.ExportedTableUpdates(request, metadata=client.session.grpc_metadata)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        try:
            for message in self._stream:
                self.sizes[message.export_id.ticket] = message.size
        except grpc.RpcError:
            pass  # cancelled

    def close(self) -> None:
        self._stream.cancel()
        self._thread.join()


@pytest.fixture
def ticking(
    settings_of: Callable[[str], Settings], tables_home: Path
) -> Iterator[tuple[TablesProcess, Callable[[], int]]]:
    """A server whose joined table grows in every cycle, and how to end that: it says how many rows there are."""
    settings = settings_of("sizes")
    pipeline = Pipeline(settings)
    generation = pipeline.build(1)
    pipeline.publish(1)
    server = TablesProcess(settings, tables_home, env={"JAVA_TOOL_OPTIONS": BETWEEN_CYCLES})
    ended, written = threading.Event(), [0]

    def write() -> None:
        while not ended.wait(0.005):
            key = f"u{written[0]}"
            pipeline.producer.produce(generation.final, *reversed(final(key, 1, {"userId": key})))
            pipeline.producer.poll(0)
            written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()

    def end() -> int:
        ended.set()
        writer.join()
        assert pipeline.producer.flush(30) == 0
        return written[0]

    try:
        server.await_ready()
        yield server, end
    finally:
        end()
        server.kill()


@pytest.mark.timeout(120)  # a server that stands still answers nothing
def test_tables_can_be_opened_in_the_middle_of_a_cycle_and_every_size_goes_on_being_told(
    ticking: tuple[TablesProcess, Callable[[], int]],
) -> None:
    server, end = ticking
    with viewer(server.port) as client:
        told = Told(client)
        fetch = client.session.table_service.grpc_table_op
        table = client.open("final_ui")
        opened = [fetch(table, FetchTableOp()) for _ in range(OPENED)]
        rows = end()
        try:
            becomes(lambda: {told.sizes.get(copy.pb_ticket.ticket) for copy in opened}, {rows}, 15)
        finally:
            told.close()
