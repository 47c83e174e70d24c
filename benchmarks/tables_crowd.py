"""Viewers that cost no more than their connections: a crowd for a tables server, on the machine that is measured.

What a browser does with what it gets is done on its user's machine; here it would take the cores from the server. So
these ask for what a grid asks for, in Deephaven's own protocol (Barrage), and throw it away.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType

import grpc  # type: ignore[import-untyped]

from benchmarks.tables_viewers import Window

EXCHANGE = "/arrow.flight.protocol.FlightService/DoExchange"
PSK = "io.deephaven.authentication.psk.PskAuthenticationHandler"
MAGIC, SUBSCRIBE = 0x6E687064, 5
FIRST_40_ROWS = bytes((12, 0, 12, 256 - 39, 32))  # a row set: from 0, over 39 more, end
FIRST_ROWS_SECONDS = 60.0

Field = int | bytes | tuple[int | bytes | None, ...] | None  # the last is a table inside a table


class Crowd:
    """Each has a connection of its own. Inside `with`."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._over = threading.Event()
        self._channels: list[grpc.Channel] = []
        self._threads: list[threading.Thread] = []
        self._messages: list[int] = []

    def add(self, count: int, interval_ms: int) -> None:
        """So many more, once each has got its first rows and the first update of them."""
        ask = subscription(self._window.ticket.encode(), interval_ms)
        for number in range(len(self._messages), len(self._messages) + count):
            self._messages.append(0)
            thread = threading.Thread(target=self._look, args=(number, ask), daemon=True)
            self._threads.append(thread)
            thread.start()
        deadline = time.monotonic() + FIRST_ROWS_SECONDS
        while any(messages < 2 for messages in self._messages):
            if time.monotonic() > deadline:
                raise RuntimeError(f"some viewers were sent nothing: {self._messages}")
            time.sleep(0.1)

    def _look(self, number: int, ask: bytes) -> None:
        # Else all would share one connection.
        channel = grpc.insecure_channel(
            self._window.url.removeprefix("http://"), options=[("grpc.use_local_subchannel_pool", 1)]
        )
        self._channels.append(channel)
        exchange = channel.stream_stream(EXCHANGE)
        try:
            for _ in exchange(self._requests(ask), metadata=[("authorization", f"{PSK} {self._window.key}")]):
                self._messages[number] += 1
        except grpc.RpcError:
            if not self._over.is_set():
                raise

    def _requests(self, ask: bytes) -> Iterator[bytes]:
        yield ask
        self._over.wait()

    def __enter__(self) -> Crowd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for channel in self._channels:
            channel.close()
        for thread in self._threads:
            thread.join(10)


def subscription(ticket: bytes, interval_ms: int) -> bytes:
    """A message of Flight that asks for the first forty rows of a table, all columns, and then for every change."""
    options = (None, None, interval_ms)
    wrapper = flatbuffer((MAGIC, SUBSCRIBE, flatbuffer((ticket, None, FIRST_40_ROWS, options))))
    return b"\x1a" + _varint(len(wrapper)) + wrapper  # the field `app_metadata`


def flatbuffer(fields: Sequence[Field]) -> bytes:
    """A table as a message of its own; numbers take four bytes, which holds for smaller ones, too."""
    table, at = _table(fields, 4)
    return struct.pack("<I", at) + table


def _table(fields: Sequence[Field], begin: int) -> tuple[bytes, int]:
    """The table's bytes, and where it is, in a message in which they begin at `begin`: after its own vtable."""
    there = {number: field for number, field in enumerate(fields) if field is not None}
    slots = {number: 4 + 4 * place for place, number in enumerate(there)}
    vtable = struct.pack("<HH", 4 + 2 * len(fields), 4 + 4 * len(there))
    vtable += b"".join(struct.pack("<H", slots.get(number, 0)) for number in range(len(fields)))
    padding = b"\0" * (-len(vtable) % 4)
    at = begin + len(padding) + len(vtable)
    body, children = struct.pack("<i", len(vtable)), b""
    for number, field in there.items():
        here = at + slots[number]
        end = at + 4 + 4 * len(there) + len(children)
        match field:
            case int():
                body += struct.pack("<I", field)
                continue
            case bytes():
                child, target = struct.pack("<I", len(field)) + field, end
            case _:
                child, target = _table(field, end)
        body += struct.pack("<I", target - here)
        children += child + b"\0" * (-len(child) % 4)
    return padding + vtable + body + children, at


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
