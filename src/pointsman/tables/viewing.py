"""The tables as a viewer sees them, for checks: is there a row, does it tick, is the console really off?"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any

from deephaven_core.proto import ticket_pb2
from pydeephaven import DHError, Session

from pointsman.domain.errors import TablesError

PSK = "io.deephaven.authentication.psk.PskAuthenticationHandler"
GOODBYE_SECONDS = 5.0


@dataclass(frozen=True)
class Sight:
    """A table at one moment."""

    rows: int
    newest: datetime | None  # the latest event time in it


@dataclass(frozen=True)
class Tls:
    """Who is trusted, in PEM, and the name that the server's certificate must be for."""

    authorities: bytes
    name: str


class Viewer:
    """A session with a tables server; TablesError where there is none, or where the key is wrong."""

    def __init__(self, host: str, port: int, key: str, tls: Tls | None = None) -> None:
        """With `tls`, by https."""
        more: dict[str, Any] = {}
        if tls is not None:
            named = [("grpc.ssl_target_name_override", tls.name)]
            more = {"use_tls": True, "tls_root_certs": tls.authorities, "client_opts": named}
        try:
            self._session = Session(host=host, port=port, auth_type=PSK, auth_token=key, **more)
        except DHError as error:
            raise TablesError(
                f"the tables server on {host}:{port} does not let us in: {str(error).splitlines()[0]}",
                "check that it runs there, and that tables.key is the key it was started with",
            ) from error

    def see(self, table: str) -> Sight:
        ticket = ticket_pb2.Ticket(ticket=f"a/kafka-orchestrator/f/{table}".encode())
        try:
            found: Any = self._session.table_service.fetch_etcr(ticket).to_arrow()
        except DHError as error:
            raise TablesError(f"the table {table} cannot be opened: {str(error).splitlines()[0]}") from error
        times = [time for time in found.column("eventTime").to_pylist() if time is not None]
        return Sight(found.num_rows, max(times, default=None))

    def console_is_off(self) -> bool:
        """Whether the server refuses to open a console."""
        try:
            self._session.console_service.start_console()
        except DHError:
            return True
        return False

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Says goodbye, and waits for the answer no longer than a while: the client itself would wait for ever."""
        goodbye = threading.Thread(target=self._session.close, daemon=True)
        goodbye.start()
        goodbye.join(GOODBYE_SECONDS)
