"""A real Apache Kafka on this machine: KRaft, one node, loopback only, its data kept across restarts.

`EmbeddedBroker` owns its JVM: it is stopped by `stop()`, by leaving the `with` block, and, whatever
happens to us, by the kernel (the JVM is asked to die with its parent).
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException

from pointsman.broker import clients, java
from pointsman.domain.errors import BrokerError, EnvironmentProblem
from pointsman.settings import Kafka

START_SECONDS = 60.0
STOP_SECONDS = 20.0
PR_SET_PDEATHSIG = 1


class EmbeddedBroker:
    """`start()` returns when the broker answers on `address`; `on_wait` is called while it does not."""

    def __init__(self, data: Path, port: int = 9092, heap: str = "512m") -> None:
        self.data = data
        self.port = port
        self.heap = heap
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, on_wait: Callable[[], None] = lambda: None) -> None:
        command = java.java_command()
        classpath = f"{java.jars('broker')}/*"
        self._check_port()
        config = self._write_config()
        if not (self.data / "log" / "meta.properties").exists():
            self._format(command, classpath, config)
        with (self.data / "broker.log").open("ab") as output:
            self._process = subprocess.Popen(
                [
                    command,
                    f"-Xmx{self.heap}",
                    f"-Xms{self.heap}",
                    "-XX:+UseG1GC",
                    "-XX:MaxGCPauseMillis=20",
                    f"-Dlog4j2.configurationFile={self.data / 'log4j2.yaml'}",
                    "-cp",
                    classpath,
                    "kafka.Kafka",
                    str(config),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 one prctl, no lock is taken
            )
        try:
            self._await_answer(on_wait)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops the JVM and waits for it; idempotent."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def exit_code(self) -> int | None:
        """None while the broker runs."""
        return self._process.poll() if self._process else 0

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _check_port(self) -> None:
        for port in (self.port, self._controller_port()):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError as error:
                    raise EnvironmentProblem(
                        f"port {port} on 127.0.0.1 cannot be used: {error.strerror}",
                        "end the program that holds it, or choose another with --port",
                    ) from error

    def _controller_port(self) -> int:
        """Kept with the data: a KRaft voter must come back under the address it was formatted with."""
        remembered = self.data / "controller.port"
        try:
            if remembered.exists():
                return int(remembered.read_text())
            self.data.mkdir(parents=True, exist_ok=True)
            port = free_port()
            remembered.write_text(str(port))
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from error
        return port

    def _write_config(self) -> Path:
        controller = f"127.0.0.1:{self._controller_port()}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": controller,
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.data / "log"),
            "num.partitions": "1",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "message.max.bytes": "8388608",
            "log.segment.delete.delay.ms": "1000",
            "log.cleaner.threads": "1",
            "log.cleaner.dedupe.buffer.size": "16777216",
        }
        try:
            config = self.data / "server.properties"
            config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
            (self.data / "log4j2.yaml").write_text(LOG4J)
        except OSError as error:
            raise self._unwritable(error) from error
        return config

    def _format(self, command: str, classpath: str, config: Path) -> None:
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a")
        tool = [command, "-cp", classpath, f"-Dlog4j2.configurationFile={self.data / 'log4j2.yaml'}"]
        done = subprocess.run(
            [*tool, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", str(config)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BrokerError(
                f"the broker's data folder could not be made: {(done.stderr or done.stdout).strip()[-400:]}",
                f"look into {self.data}, or choose another folder with --data",
            )

    def _await_answer(self, on_wait: Callable[[], None]) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None:
                raise BrokerError(
                    f"the broker ended while starting (exit code {self._process.returncode}): {self._last_words()}",
                    f"read {self.data / 'broker.log'}",
                )
            if _answers(self.address):
                return
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"the broker did not answer within {START_SECONDS:.0f} s",
                    f"read {self.data / 'broker.log'}",
                )
            on_wait()
            time.sleep(0.1)

    def _last_words(self) -> str:
        lines = (self.data / "broker.log").read_text(errors="replace").splitlines()
        errors = [line for line in lines if "ERROR" in line or "Exception" in line]
        return (errors or lines or ["no output"])[-1][-300:]

    def _unwritable(self, error: Exception) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the folder {self.data} cannot be written: {error}",
            "choose another with --data, or free the disk",
        )


def _answers(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=0.2).close()
        return bool(clients.admin(Kafka(bootstrap_servers=address)).list_topics(timeout=2).brokers)
    except (OSError, KafkaException):
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def die_with_parent() -> None:
    """In a child, before exec: the kernel ends it when its parent thread dies, even by kill -9."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


LOG4J = """\
Configuration:
  status: error
  Appenders:
    Console:
      name: out
      PatternLayout: {pattern: "%d{ISO8601} %p %c{1}: %m%n"}
  Loggers:
    Root: {level: warn, AppenderRef: [{ref: out}]}
"""
