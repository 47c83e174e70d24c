"""How a tables server starts, ends, dies and comes back."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import pytest

from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.settings import Kafka, Settings

from .stage import Pipeline, TablesProcess, Viewer, becomes, count, eventually, final, generations, rows

pytestmark = [pytest.mark.broker, pytest.mark.tables]
DATA = ("users_ui", "accounts_ui", "final_ui")


@pytest.fixture
def start(tables_home: Path) -> Iterator[Callable[..., TablesProcess]]:
    """Starts servers, and kills them afterwards."""
    with ExitStack() as ends:

        def make(settings: Settings, **env: str) -> TablesProcess:
            process = TablesProcess(settings, tables_home, env=env)
            ends.callback(process.kill)
            return process

        yield make


def contents(port: int) -> dict[str, list[str]]:
    client = Viewer(port)
    try:
        return {name: sorted(str(row) for row in rows(client.open(name))) for name in DATA}
    finally:
        client.close()


def test_after_kill_9_every_table_is_back_from_the_changelogs_alone(
    settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    settings = settings_of("life")
    pipeline = Pipeline(settings)
    generation = pipeline.build(1)
    pipeline.fill(generation, users=2_000)
    pipeline.write(generation.final, [final("u3", 2, {"userId": "u3"}, op="d")])
    pipeline.publish(1)
    first, second = start(settings), start(settings)
    first.await_ready()
    second.await_ready()
    sizes = {"users_ui": 2_000, "accounts_ui": 2_000, "final_ui": 1_999}
    before = eventually(
        lambda: contents(first.port), lambda found: {name: len(table) for name, table in found.items()} == sizes
    )
    becomes(lambda: contents(second.port), before)

    first.process.kill()
    first.process.wait()
    killed = time.monotonic()
    again = start(settings)
    again.await_ready()
    becomes(lambda: contents(again.port), before)
    print(f"back after {time.monotonic() - killed:.1f} s")

    # The other one is asleep across a switch and the freeing of what it shows.
    sleeper = Viewer(second.port)
    table = sleeper.open("final_ui")
    second.signal(signal.SIGSTOP)
    pipeline.fill(pipeline.build(2), users=11)
    pipeline.publish(2)
    pipeline.free(1)
    becomes(lambda: len(contents(again.port)["final_ui"]), 11)
    pipeline.forget(1)
    second.signal(signal.SIGCONT)
    becomes(lambda: (count(table), generations(table)), (11, {2}))
    sleeper.close()

    assert again.stop() == 0
    eventually(lambda: list(pipeline.servers()), lambda found: len(found) == 1 or str(first.port) in "".join(found))
    assert not any(str(again.port) in name for name in pipeline.servers())


def test_tables_go_on_when_the_broker_was_gone(
    tmp_path: Path, settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    broker = EmbeddedBroker(tmp_path, free_port())
    broker.start()
    try:
        chosen = settings_of("outage")
        chosen = chosen.model_copy(update={"kafka": Kafka(bootstrap_servers=broker.address)})
        pipeline = Pipeline(chosen)
        generation = pipeline.build(1)
        pipeline.fill(generation, users=10)
        pipeline.publish(1)
        server = start(chosen)
        server.await_ready()
        client = Viewer(server.port)
        held = {name: client.open(name) for name in DATA}
        becomes(lambda: {name: count(table) for name, table in held.items()}, dict.fromkeys(DATA, 10))
        broker.stop()
        assert {name: count(table) for name, table in held.items()} == dict.fromkeys(DATA, 10)
        broker.start()
        pipeline.fill(generation, users=5, first=10)
        becomes(lambda: {name: count(table) for name, table in held.items()}, dict.fromkeys(DATA, 15))
        pipeline.fill(pipeline.build(2), users=3)
        pipeline.publish(2)
        becomes(lambda: {name: generations(table) for name, table in held.items()}, {name: {2} for name in DATA})
        client.close()
    finally:
        broker.stop()


def test_a_key_is_generated_when_none_is_given_and_shown_once(
    settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    server = start(settings_of("key"), POINTSMAN_TABLES__KEY="")
    server.await_ready()
    key = re.search(r"access key .*: (\S+)", server.log)
    assert key
    assert len(key[1]) * 6 >= 128
    client = Viewer(server.port, key[1])
    status = rows(client.open("orchestrator_status"))
    client.close()
    assert [(row["usersTopic"], row["state"]) for row in status] == [("users", "STARTING")]
    assert server.log.count(key[1]) == 1
    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert key[1] not in listed
    assert server.stop() == 0


def test_a_port_in_use_is_said_before_anything_starts(
    settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = start(settings_of("port"), POINTSMAN_TABLES__PORT=str(port))
        assert server.process.wait(30) == 1
    assert f"error: 127.0.0.1:{port} cannot be bound" in server.log
    assert "POINTSMAN_TABLES__PORT" in server.log
    assert "Traceback" not in server.log


def test_with_a_certificate_viewers_come_by_https_and_by_nothing_else(
    tmp_path: Path, settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    certificate, key = self_signed(tmp_path)
    files = {"POINTSMAN_TABLES__TLS_CERTIFICATE": str(certificate), "POINTSMAN_TABLES__TLS_KEY": str(key)}
    server = start(settings_of("tls"), **files)
    assert server.await_ready() == f"https://127.0.0.1:{server.port}"
    client = Viewer(server.port, authority=certificate.read_bytes())
    assert [row["state"] for row in rows(client.open("orchestrator_status"))] == ["STARTING"]
    client.close()
    trusting = ssl.create_default_context(cafile=str(certificate))
    with urlopen(f"https://127.0.0.1:{server.port}/jsapi/dh-core.js", timeout=10, context=trusting) as answer:
        assert answer.status == 200
    with pytest.raises((OSError, HTTPException)):
        urlopen(f"http://127.0.0.1:{server.port}/jsapi/dh-core.js", timeout=10)
    assert server.stop() == 0


def test_a_certificate_that_cannot_be_read_is_said_before_anything_starts(
    tmp_path: Path, settings_of: Callable[[str], Settings], start: Callable[..., TablesProcess]
) -> None:
    missing = str(tmp_path / "missing.pem")
    files = {"POINTSMAN_TABLES__TLS_CERTIFICATE": missing, "POINTSMAN_TABLES__TLS_KEY": missing}
    server = start(settings_of("tls"), **files)
    assert server.process.wait(30) == 1
    assert f"error: tables.tls_certificate: {missing} cannot be read: No such file" in server.log
    assert "Traceback" not in server.log


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    certificate, key = folder / "server.pem", folder / "server.key"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    made = ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    subprocess.run(["openssl", "req", "-x509", *names, *made], check=True, capture_output=True)
    return certificate, key
