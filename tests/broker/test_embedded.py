"""The embedded broker as people meet it: `pointsman broker`, run as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from pointsman.broker import clients
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.domain.errors import EnvironmentProblem
from pointsman.settings import Kafka

pytestmark = pytest.mark.broker

POINTSMAN = Path(sys.executable).with_name("pointsman")
PATIENCE = 150.0  # a start on a busy machine


class Command:
    """`pointsman broker` as a process; whatever a test leaves of it is ended with the test."""

    def __init__(self, said: Path, data: Path, port: int | None, env: Mapping[str, str]) -> None:
        self.port = port or free_port()
        self.said = said
        with self.said.open("w") as errors:
            self.process = subprocess.Popen(
                [POINTSMAN, "broker", "--port", str(self.port), "--data", str(data)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **env},
                start_new_session=True,
            )
        self.jvms: set[psutil.Process] = set()

    def ready(self) -> str:
        """The first line on standard output; empty when it ended without one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        self.jvm()
        return line

    def jvm(self) -> psutil.Process | None:
        try:
            found = [p for p in psutil.Process(self.process.pid).children() if "java" in p.name()]
        except psutil.NoSuchProcess:
            found = []
        self.jvms |= set(found)
        return found[0] if found else None

    def signalled(self, kind: signal.Signals) -> int:
        self.process.send_signal(kind)
        return self.process.wait(PATIENCE)

    @property
    def errors(self) -> str:
        return self.said.read_text()

    def end(self) -> None:
        for process in (*self.jvms, self.process):
            try:
                process.kill()
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
        self.process.wait()


Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Command] = []

    def begin(data: Path, port: int | None = None, env: Mapping[str, str] | None = None) -> Command:
        started.append(Command(tmp_path / f"said-{len(started)}.txt", data, port, env or {}))
        return started[-1]

    yield begin
    for command in started:
        command.end()


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def write(port: int, topic: str, value: bytes) -> None:
    kafka = Kafka(bootstrap_servers=f"127.0.0.1:{port}")
    admin = clients.admin(kafka)
    admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=30)[topic].result(30)
    producer = clients.producer(kafka)
    producer.produce(topic, value)
    assert producer.flush(30) == 0


def read(port: int, topic: str) -> bytes | None:
    consumer = clients.assigned_consumer(Kafka(bootstrap_servers=f"127.0.0.1:{port}"), [TopicPartition(topic, 0, 0)])
    try:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        value: bytes | None = message.value()
        return value
    finally:
        consumer.close()


def test_a_broker_keeps_its_data_stops_cleanly_and_never_leaves_a_jvm(tmp_path: Path, start: Start) -> None:
    """One story, because every start of a JVM costs seconds. The folder has a blank and an é in its name."""
    data = tmp_path / "donn\u00e9es du broker"

    first = start(data)
    assert first.ready() == f"ready 127.0.0.1:{first.port}"
    write(first.port, "kept", b"here")

    second = start(data)
    assert second.process.wait(PATIENCE) == 1
    assert f"{data} is in use by another broker (process {first.process.pid})" in second.errors
    assert "next: end that one, or choose another folder with --data" in second.errors

    jvm = first.jvm()
    assert jvm is not None
    assert os.getpgid(jvm.pid) == jvm.pid
    assert os.getsid(jvm.pid) == os.getsid(first.process.pid), "see docs/decisions/0009"
    assert first.signalled(signal.SIGTERM) == 0
    assert first.errors.endswith("stopped\n")
    assert not jvm.is_running()

    third = start(data)
    assert third.ready() == f"ready 127.0.0.1:{third.port}", third.errors
    assert read(third.port, "kept") == b"here"
    assert third.signalled(signal.SIGINT) == 0
    assert all(not jvm.is_running() for jvm in third.jvms)

    fourth = start(data)
    assert fourth.ready(), fourth.errors
    assert read(fourth.port, "kept") == b"here"
    assert fourth.jvms
    fourth.process.kill()
    eventually(lambda: not any(jvm.is_running() for jvm in fourth.jvms), "the JVM outlived a kill -9 of its owner")


def test_ctrl_c_while_it_starts_ends_it_and_leaves_a_folder_that_can_be_used(tmp_path: Path, start: Start) -> None:
    """The whole foreground group gets the signal, as in a terminal: a JVM must not take it for a failure."""
    data = tmp_path / "data"
    for formatting in (False, True):
        interrupted = start(data)

        def begun(command: Command = interrupted, formatting: bool = formatting) -> bool:
            return command.jvm() is not None and (not formatting or (data / "log.new").exists())

        eventually(begun, "the start did not get that far")
        os.killpg(interrupted.process.pid, signal.SIGINT)
        assert interrupted.process.wait(PATIENCE) == 0, interrupted.errors
        assert "stopped before it was ready" in interrupted.errors
        assert "Traceback" not in interrupted.errors
        assert all(not jvm.is_running() for jvm in interrupted.jvms)
        assert not (data / "log").exists()

    again = start(data)
    assert again.ready().startswith("ready"), again.errors
    jvm = again.jvm()
    assert jvm is not None
    jvm.kill()
    assert again.process.wait(PATIENCE) == 1
    assert "the broker ended by itself (exit code -9)" in again.errors
    assert f"next: read {data / 'broker.log'}" in again.errors


def fake_java(folder: Path, says: str) -> Path:
    java = folder / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    return folder / "jdk"


def refused(command: Command, *sentences: str) -> None:
    assert command.ready() == ""
    assert command.process.wait(PATIENCE) == 1
    for sentence in sentences:
        assert sentence in command.errors
    assert "Traceback" not in command.errors


def test_a_port_that_is_taken_is_named(tmp_path: Path, start: Start) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        refused(
            start(tmp_path / "data", port),
            f"error: 127.0.0.1:{port} cannot be bound: Address already in use",
            "next: end the program that holds it, or choose another with --port",
        )
    assert not (tmp_path / "data").exists()


def test_no_java_says_where_it_was_looked_for(tmp_path: Path, start: Start) -> None:
    step = "next: install a Java 17 or 21 (a JDK), or set JAVA_HOME to one"
    refused(
        start(tmp_path / "a", env={"PATH": str(tmp_path), "JAVA_HOME": ""}), "error: Java was not found (PATH)", step
    )
    gone = tmp_path / "gone"
    refused(start(tmp_path / "b", env={"JAVA_HOME": str(gone)}), f"error: Java was not found (JAVA_HOME={gone})", step)


def test_a_wrong_java_is_named_with_what_is_needed(tmp_path: Path, start: Start) -> None:
    home = fake_java(tmp_path, 'openjdk version "11.0.2" 2019-01-15')
    refused(
        start(tmp_path / "data", env={"JAVA_HOME": str(home)}),
        f"error: Java 11 was found (JAVA_HOME={home}); Pointsman needs Java 17 or 21",
        "next: install a Java 17 or 21",
    )


@pytest.mark.parametrize(
    ("says", "error"),
    [
        ('java version "1.8.0_292"', "Java 8 was found"),
        ("No Java runtime present", "does not say its version: No Java runtime present"),
    ],
)
def test_an_older_numbering_and_a_stub_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, error: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, says)))
    with pytest.raises(EnvironmentProblem, match=error):
        EmbeddedBroker(tmp_path / "data", free_port()).start()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, start: Start) -> None:
    (tmp_path / "file").touch()
    data = tmp_path / "file" / "data"
    refused(
        start(data),
        f"error: the folder {data} cannot be written: Not a directory",
        "next: choose another with --data, or free the disk",
    )


def test_missing_jars_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POINTSMAN_JARS", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="the broker jars are missing") as caught:
        EmbeddedBroker(tmp_path / "data", free_port()).start()
    assert "make setup" in caught.value.next_step


def test_a_folder_with_a_comma_is_refused_because_kafka_would_see_two(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="comma"):
        EmbeddedBroker(tmp_path / "a,b", free_port()).start()


def test_no_port_is_given_twice() -> None:
    """The kernel would: a broker's two listeners, or two brokers, may ask before either has taken its own."""
    given = [free_port() for _ in range(1000)]
    assert len(set(given)) == len(given)
    assert free_port(other_than=given[0]) not in given
