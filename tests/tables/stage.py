"""What stands around a tables server in these tests: the pipeline's part, played by plain producers, and viewers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeVar

import psutil
import pyarrow as pa
from deephaven_core.proto import ticket_pb2
from pydeephaven import Session, Table

from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.java import java_command
from pointsman.broker.topics import TopicAdmin, fixed_topics, generation_topics
from pointsman.domain.catalog import KEY, Catalog
from pointsman.domain.errors import BrokerError
from pointsman.domain.generation import Generation, State
from pointsman.domain.spec import JoinType, Spec
from pointsman.settings import Settings
from tests import java

T = TypeVar("T")
PSK = "io.deephaven.authentication.psk.PskAuthenticationHandler"
GOODBYE_SECONDS = 10.0
KEY_OF_VIEWERS = "a-key-for-tests"


def eventually(look: Callable[[], T], accept: Callable[[T], bool] | None = None, seconds: float = 60) -> T:
    """The first answer that is accepted (by default: true); fails with the last one when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if accept(found) if accept else found:
            return found
        assert time.monotonic() < deadline, f"still {str(found)[:1000]} after {seconds} s"
        time.sleep(0.05)


def becomes(look: Callable[[], object], wanted: object, seconds: float = 60) -> None:
    eventually(look, lambda found: found == wanted, seconds)


class Pipeline:
    """Writes catalogs and changelogs as the pipeline does."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.admin = TopicAdmin(settings)
        self.admin.ensure(fixed_topics(settings))
        self.producer = clients.producer(settings.kafka, **{"queue.buffering.max.messages": 1_000_000})
        self.catalog = Catalog()

    def write(self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        for key, value in records:
            self.producer.produce(topic, value, key)
            self.producer.poll(0)
        self.producer.flush(30)

    def say(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.write(self.settings.names.catalog, [(KEY.encode(), catalog.to_bytes())])

    def build(self, number: int, join: JoinType = JoinType.LEFT, **topics: str) -> Generation:
        """A generation that is BUILDING: its topics are there, and the catalog tells of it."""
        return self.build_spec(number, self.settings.spec().with_overrides(topics, join))

    def build_spec(self, number: int, spec: Spec) -> Generation:
        names = self.settings.names
        generation = Generation(
            number=number,
            state=State.BUILDING,
            spec=spec,
            views={s.name: names.view(number, s.name) for s in spec.sources},
            final=names.final(number),
            checkpoint="",
        )
        self.admin.ensure(generation_topics(generation, self.settings))
        self.say(self.catalog.put(generation))
        return generation

    def fill(self, generation: Generation, users: int, first: int = 0) -> None:
        """So many users with an account each: in both views and joined."""
        number = generation.number
        ids = range(first, first + users)
        self.write(generation.views["users"], (view("users", i, user(i, number)) for i in ids))
        self.write(generation.views["accounts"], (view("accounts", i, account(i)) for i in ids))
        self.write(generation.final, (final(f"u{i}", 1, user(i, number) | account(i)) for i in ids))

    def ends(self, generation: Generation) -> dict[str, dict[int, int]]:
        """Where its changelogs end. A topic's first moments have no leader to ask."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return self.admin.end_offsets(generation.topics)
            except BrokerError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def publish(self, number: int) -> None:
        self.say(self.with_live(number))

    def with_live(self, number: int) -> Catalog:
        """The catalog that publishes it, with the ends of its changelogs as what a reader must reach."""
        catalog = self.catalog
        generation = catalog.generations[number]
        live = replace(generation, state=State.LIVE, read_to=self.ends(generation), linger_until=None)
        if catalog.live is not None and catalog.live != number:
            old = replace(catalog.generations[catalog.live], state=State.LINGERING, linger_until=time.time() + 60)
            catalog = catalog.put(old)
        return replace(catalog.put(live), live=number)

    def free(self, number: int) -> None:
        """Says that a generation is to be let go of; its topics stay, as they do until every server has."""
        self.say(self.catalog.put(replace(self.catalog.generations[number], state=State.FREEING)))

    def forget(self, number: int) -> None:
        """Deletes a freed generation's topics, and takes it out of the catalog."""
        generation = self.catalog.generations[number]
        self.say(self.catalog.put(replace(generation, state=State.FREED)))
        self.admin.delete(generation.topics)

    def servers(self) -> dict[str, dict[str, Any]]:
        """What the tables servers last said of themselves."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        topic = self.settings.names.tables
        end = self.admin.end_offsets([topic])[topic][0]
        consumer = clients.assigned_consumer(self.settings.kafka, [TopicPartition(topic, 0, OFFSET_BEGINNING)])
        said: dict[str, dict[str, Any]] = {}
        try:
            at = 0
            while at < end:
                for message in clients.messages(consumer, 1.0):
                    at = message.offset() + 1
                    key = message.key().decode()
                    if message.value() is None:
                        said.pop(key, None)
                    else:
                        said[key] = json.loads(message.value())
        finally:
            consumer.close()
        return said


def user(number: int, generation: int) -> dict[str, Any]:
    return {
        "userId": f"u{number}",
        "name": f"user {number} of {generation}",
        "email": f"u{number}@example.com",
        "age": 20 + number % 50,
    }


def account(number: int) -> dict[str, Any]:
    return {"userId": f"u{number}", "accountType": "current", "balance": number + 0.5}


def view(source: str, offset: int, row: Mapping[str, Any], op: str = "u") -> tuple[bytes, bytes]:
    value = {**row, "_op": op, "_ts": 1_700_000_000_000 + offset}
    return f"{source}-0-{offset}".encode(), json.dumps(value).encode()


def final(key: str, version: int, row: Mapping[str, Any], op: str = "u") -> tuple[bytes, bytes]:
    value = {**row, "_op": op, "_ts": 1_700_000_000_000 + version, "_version": version, "_from": "users-0-0"}
    return key.encode(), json.dumps(value).encode()


class TablesProcess:
    """`pointsman tables`, or a script that starts the same server, as a process of its own."""

    def __init__(
        self, settings: Settings, folder: Path, command: list[str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.port = int((env or {}).get("POINTSMAN_TABLES__PORT") or free_port())
        self._log = folder / f"tables-{self.port}.log"
        java.lend_to(folder)
        variables = {
            "POINTSMAN_HOME": str(folder),
            "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
            "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
            "POINTSMAN_CONTROL__TOPIC": settings.control.topic,
            "POINTSMAN_TABLES__PORT": str(self.port),
            "POINTSMAN_TABLES__KEY": KEY_OF_VIEWERS,
            "POINTSMAN_TABLES__HEAP": "1g",
            "JAVA_TOOL_OPTIONS": java.OPTIONS,
            **(env or {}),
        }
        program = command or [str(Path(sys.executable).with_name("pointsman")), "tables"]
        self._errors: IO[bytes] = self._log.open("ab")
        self.process = subprocess.Popen(
            program,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
        )

    def await_ready(self, seconds: float = 60) -> str:
        """The line it says when it answers; its stdout says nothing else."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        assert line.startswith("ready "), f"said {line!r}; {self.log[-2000:]}"
        return line.removeprefix("ready ")

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def live_bytes(self) -> int:
        """Of its Java heap, what is left after a full collection."""
        command = [str(Path(java_command()).with_name("jcmd")), str(self.process.pid), "GC.class_histogram"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        return int(told.splitlines()[-1].split()[-1])

    def connections_to(self, port: int) -> int:
        """Open sockets to a server on that port: each reader of topics has some of its own."""
        found = psutil.Process(self.process.pid).net_connections("tcp")
        return sum(bool(c.raddr) and c.raddr.port == port and c.status == psutil.CONN_ESTABLISHED for c in found)

    def stop(self) -> int:
        """Asked politely; its exit code."""
        self.process.terminate()
        return self.process.wait(30)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(10)
        self._errors.close()
        if self.process.stdout:
            self.process.stdout.close()


class Viewer:
    """A real client. Tables opened here stay open until it closes."""

    def __init__(self, port: int, key: str = KEY_OF_VIEWERS, authority: bytes | None = None) -> None:
        """With a certificate authority, by TLS."""
        tls = {"use_tls": True, "tls_root_certs": authority} if authority else {}
        self.session = Session(host="127.0.0.1", port=port, auth_type=PSK, auth_token=key, **tls)

    def open(self, name: str) -> Table:
        ticket = ticket_pb2.Ticket(ticket=f"a/kafka-orchestrator/f/{name}".encode())
        return self.session.table_service.fetch_etcr(ticket)

    def close(self) -> None:
        """Says goodbye, and waits for the answer no longer than a while: pydeephaven itself would wait for ever."""
        goodbye = threading.Thread(target=self.session.close, daemon=True)
        goodbye.start()
        goodbye.join(GOODBYE_SECONDS)


@contextmanager
def viewer(port: int, key: str = KEY_OF_VIEWERS):  # type: ignore[no-untyped-def]
    client = Viewer(port, key)
    try:
        yield client
    finally:
        client.close()


def rows(table: Table) -> list[dict[str, Any]]:
    """What the table holds now, in its own order."""
    snapshot: pa.Table = table.to_arrow()
    found: list[dict[str, Any]] = snapshot.to_pylist()
    return found


def by_key(table: Table, key: str = "userId") -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows(table)}


def count(table: Table) -> int:
    return int(table.to_arrow().num_rows)


def generations(table: Table) -> set[int]:
    """Which generations the rows of one snapshot belong to."""
    return set(table.to_arrow().column("generation").unique().to_pylist())
