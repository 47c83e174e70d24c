"""A viewer may look, and nothing that a viewer does changes what others see: real calls of a logged-in client."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import grpc  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from deephaven_core.proto import (
    console_pb2,
    inputtable_pb2,
    inputtable_pb2_grpc,
    session_pb2,
    storage_pb2,
    storage_pb2_grpc,
    ticket_pb2,
)
from pydeephaven import DHError, Session

from .conftest import Running
from .stage import KEY_OF_VIEWERS, PSK, Viewer, becomes, count, generations

pytestmark = [pytest.mark.broker, pytest.mark.tables]
FINAL = b"a/kafka-orchestrator/f/final_ui"
FIELDS = {
    "users_ui",
    "accounts_ui",
    "final_ui",
    "orchestrator_status",
    "orchestrator_logs",
    "control_raw",
    "control_verdicts",
    "generations",
    "dead_letters",
}


def fields(session: Session) -> set[tuple[str, str]]:
    return {(field.application_id, field.field_name) for field in session._fetch_fields()}


@pytest.fixture(scope="module")
def shown(running: Running) -> Running:
    """Seven rows on screen."""
    generation = running.pipeline.build(running.pipeline.catalog.next_number)
    running.pipeline.fill(generation, users=7)
    running.pipeline.publish(generation.number)
    final = running.viewer.open("final_ui")
    becomes(lambda: (count(final), generations(final)), (7, {generation.number}))
    return running


@pytest.fixture
def viewer(shown: Running) -> Iterator[Viewer]:
    """A client of its own; whatever it tries, the fields and their rows are the same afterwards, for another one."""
    client = Viewer(shown.server.port)
    yield client
    client.close()
    assert fields(shown.viewer.session) == {("kafka-orchestrator", name) for name in FIELDS}
    assert count(shown.viewer.open("final_ui")) == 7


def test_every_table_is_a_field_of_the_application(viewer: Viewer) -> None:
    assert fields(viewer.session) == {("kafka-orchestrator", name) for name in FIELDS}


@pytest.mark.parametrize(
    ("kind", "token"), [(PSK, ""), (PSK, "wrong"), (PSK, KEY_OF_VIEWERS[:-1]), ("Anonymous", ""), ("Basic", "a:b")]
)
def test_without_the_key_nothing_is_shown(running: Running, kind: str, token: str) -> None:
    with pytest.raises(DHError):
        Session(host="127.0.0.1", port=running.server.port, auth_type=kind, auth_token=token)


def refused(call: Callable[[], object]) -> str:
    """The status with which the server refuses a call."""
    with pytest.raises((DHError, grpc.RpcError, pa.ArrowException, flight.FlightError)) as caught:
        call()
    cause = caught.value if isinstance(caught.value, grpc.RpcError) else caught.value.__cause__
    return cause.code().name if isinstance(cause, grpc.RpcError) else str(caught.value)


def test_a_console_is_refused(viewer: Viewer) -> None:
    assert refused(viewer.session.console_service.start_console) == "PERMISSION_DENIED"


def test_running_code_is_refused(viewer: Viewer) -> None:
    service = viewer.session.console_service
    request = console_pb2.ExecuteCommandRequest(
        console_id=viewer.session.make_export_ticket().pb_ticket, code="final_ui = None"
    )
    call = service._grpc_console_stub.ExecuteCommand
    assert refused(lambda: viewer.session.wrap_rpc(call, request)) == "PERMISSION_DENIED"


def test_binding_a_table_over_a_name_is_refused(viewer: Viewer) -> None:
    mine = viewer.session.empty_table(1)
    assert refused(lambda: viewer.session.bind_table("final_ui", mine)) == "PERMISSION_DENIED"


def test_reading_the_log_of_the_server_is_refused(viewer: Viewer) -> None:
    stub = viewer.session.console_service._grpc_console_stub
    request = console_pb2.LogSubscriptionRequest()
    answers = viewer.session.wrap_bidi_rpc(stub.SubscribeToLogs, request)
    assert refused(lambda: next(answers)) == "PERMISSION_DENIED"


@pytest.mark.parametrize("target", [FINAL, b"s/final_ui", b"h" + b"x" * 16])
def test_publishing_to_anything_that_others_can_name_is_refused(viewer: Viewer, target: bytes) -> None:
    mine = viewer.session.empty_table(1)
    request = session_pb2.PublishRequest(source_id=mine.pb_ticket, result_id=ticket_pb2.Ticket(ticket=target))
    call = viewer.session.session_service._grpc_session_stub.PublishFromTicket
    assert refused(lambda: viewer.session.wrap_rpc(call, request)) in ("PERMISSION_DENIED", "FAILED_PRECONDITION")


@pytest.mark.parametrize(
    "path", [("app", "kafka-orchestrator", "field", "final_ui"), ("scope", "final_ui"), ("scope", "evil")]
)
def test_uploading_over_a_table_is_refused(viewer: Viewer, path: tuple[str, ...]) -> None:
    data = pa.table({"userId": ["evil"]})

    def upload() -> None:
        client = viewer.session.flight_service._flight_client
        writer, _ = client.do_put(flight.FlightDescriptor.for_path(*path), data.schema)
        writer.write_table(data)
        writer.close()

    refused(upload)


def test_writing_to_a_table_is_refused(viewer: Viewer) -> None:
    stub = inputtable_pb2_grpc.InputTableServiceStub(viewer.session.grpc_channel)
    mine = viewer.open("final_ui")
    target = ticket_pb2.Ticket(ticket=FINAL)
    adding = inputtable_pb2.AddTableRequest(input_table=target, table_to_add=mine.pb_ticket)
    removing = inputtable_pb2.DeleteTableRequest(input_table=target, table_to_remove=mine.pb_ticket)
    refused(lambda: viewer.session.wrap_rpc(stub.AddTableToInputTable, adding))
    refused(lambda: viewer.session.wrap_rpc(stub.DeleteTableFromInputTable, removing))


def test_leaving_files_for_other_viewers_is_refused(viewer: Viewer) -> None:
    stub = storage_pb2_grpc.StorageServiceStub(viewer.session.grpc_channel)
    save = storage_pb2.SaveFileRequest(path="/layouts/evil", contents=b"{}")
    folder = storage_pb2.CreateDirectoryRequest(path="/layouts")
    assert refused(lambda: viewer.session.wrap_rpc(stub.SaveFile, save)) == "PERMISSION_DENIED"
    assert refused(lambda: viewer.session.wrap_rpc(stub.CreateDirectory, folder)) == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "formula",
    [
        "X = java.lang.System.exit(1)",
        "X = java.lang.Runtime.getRuntime().exec(`true`)",
        "X = java.lang.System.getProperty(`authentication.psk`)",
        "X = new java.io.File(`/etc/passwd`).length()",
        "X = java.lang.Class.forName(`java.lang.System`)",
        "X = jpy.PyLib.stopPython()",
        "X = pointsman.Tables.definition(null)",
        "X = __import__(`os`)",
    ],
)
def test_a_formula_cannot_run_code(viewer: Viewer, formula: str) -> None:
    table = viewer.open("final_ui")
    refused(lambda: table.update([formula]).to_arrow())


def test_looking_in_ones_own_way_is_permitted(viewer: Viewer) -> None:
    table = viewer.open("final_ui")
    mine = table.where("age > 22").update_view(["half = balance / 2"]).sort("userId")
    assert count(mine) == 4


def test_who_follows_something_is_counted_until_they_leave(shown: Running) -> None:
    def viewers() -> int:
        said = [word for word in shown.pipeline.servers().values() if word["url"].endswith(f":{shown.server.port}")]
        return int(said[0]["viewers"])

    client = Viewer(shown.server.port)
    count(client.open("final_ui"))
    becomes(viewers, 0)  # one that has looked once follows nothing
    following = client.session.app_service.list_fields()
    next(following)
    becomes(viewers, 1)
    following.cancel()
    becomes(viewers, 0)
    client.close()
