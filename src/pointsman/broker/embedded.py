"""A real Apache Kafka on this machine: KRaft, one node, loopback only, its data kept across restarts.

`EmbeddedBroker` owns its JVM: it is ended by `stop()`, by leaving the `with` block, and, whatever happens to us,
by the kernel (Linux), which kills the JVM when the thread that started it dies.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from confluent_kafka import KafkaException

from pointsman.broker import clients, java
from pointsman.domain.errors import BrokerError, EnvironmentProblem
from pointsman.listening import require_port
from pointsman.settings import Kafka

START_SECONDS = 120.0  # for formatting and starting together
STOP_SECONDS = 20.0
FORMATTER, BROKER = "kafka.tools.StorageTool", "kafka.Kafka"
PR_SET_PDEATHSIG = 1
ADDED_TO = ("listeners", "advertised.listeners", "listener.security.protocol.map")
GIVEN: set[int] = set()  # ports that this process was told are free, and may not have taken yet
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded here: a forked child must not


class EmbeddedBroker:
    """`start()` returns when the broker answers on `address`, or raises and leaves nothing running.

    Start it from a thread that lives as long as the broker shall. `properties` are laid over the broker's, listeners
    beside the one on `address`; `system` are Java's own.
    """

    def __init__(
        self,
        data: Path,
        port: int = 9092,
        heap: str = "512m",
        properties: Mapping[str, str] | None = None,
        system: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data.absolute()
        self.port = port
        self.heap = heap
        self._properties = dict(properties or {})
        self._system = dict(system or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._log_start = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def log(self) -> Path:
        return self.data / "broker.log"

    @property
    def _records(self) -> Path:
        return self.data / "log"

    def start(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """`on_wait` is called again and again while the broker does not answer; what it raises ends the start."""
        command = [java.java_command(), f"-Xmx{self.heap}", f"-Dlog4j2.configurationFile={self.data / 'log4j2.yaml'}"]
        command += [f"-D{name}={value}" for name, value in self._system.items()]
        command += ["-cp", f"{java.jars('broker')}/*"]
        deadline = time.monotonic() + START_SECONDS
        require_port("127.0.0.1", self.port)
        try:
            self._claim_folder()
            if not self._records.exists():
                self._format(command, deadline, on_wait)
            config = self._write_config(self._records)
            options = [f"-Xms{self.heap}", "-XX:+UseG1GC"]
            self._launch([command[0], *options, *command[1:], BROKER, str(config)])
            self._await(lambda: answers(self.address), deadline, on_wait)
        except OSError as error:
            self.stop()
            raise self._unwritable(error) from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the JVM, waits for it and lets go of the folder; idempotent."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

    def exit_code(self) -> int | None:
        """None while the broker runs."""
        return self._process.poll() if self._process else 0

    def last_words(self) -> str:
        """The last error that this start has logged, or its last line."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        errors = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception:" in line]
        return (errors or lines or ["it said nothing"])[-1][-300:]

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _claim_folder(self) -> None:
        """Held by us and by the JVM: the folder is free again only when both are gone."""
        if "," in str(self.data):
            raise EnvironmentProblem(
                f"the folder {self.data} has a comma in its name, which Kafka takes for two folders",
                "choose another with --data",
            )
        self.data.mkdir(parents=True, exist_ok=True)
        self._lock = lock = (self.data / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise EnvironmentProblem(
                f"the folder {self.data} is in use by another broker (process {lock.read()})",
                "end that one, or choose another folder with --data",
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()

    def _write_config(self, records: Path) -> Path:
        # A controller may come back on another port: it is the only voter, and finds itself.
        controller = f"127.0.0.1:{free_port(other_than=self.port)}"
        extra = dict(self._properties)
        more = {name: extra.pop(name, "") for name in ADDED_TO}
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": controller,
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(records),
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
            **extra,
        }
        properties |= {name: f"{properties[name]},{value}" for name, value in more.items() if value}
        config = self.data / "server.properties"
        config.write_text("".join(f"{key}={_escaped(value)}\n" for key, value in properties.items()))
        (self.data / "log4j2.yaml").write_text(LOG4J)
        return config

    def _format(self, command: list[str], deadline: float, on_wait: Callable[[], None]) -> None:
        """Made beside its place and moved there whole: an interrupted start leaves nothing half made."""
        fresh = self.data / "log.new"
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a")
        shutil.rmtree(fresh, ignore_errors=True)
        config = self._write_config(fresh)
        self._launch([*command, FORMATTER, "format", "--standalone", "-t", cluster, "-c", str(config)])
        self._await(lambda: self.exit_code() == 0, deadline, on_wait)
        fresh.rename(self._records)

    def _launch(self, command: list[str]) -> None:
        """In a process group of its own: a Ctrl-C in the terminal is for us to answer, not for the JVM.

        And no more than that: see docs/decisions/0009.
        """
        assert self._lock is not None
        with self.log.open("ab") as output:
            self._log_start = output.seek(0, os.SEEK_END)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                pass_fds=(self._lock.fileno(),),
                env={**os.environ, "LC_ALL": "C.UTF-8"},  # else Java cannot open a folder with an é in its name
                preexec_fn=dying_with_us(),  # noqa: PLW1509 one prctl, no lock is taken
            )

    def _await(self, done: Callable[[], bool], deadline: float, on_wait: Callable[[], None]) -> None:
        assert self._process is not None
        while not done():
            if self._process.poll() is not None and not done():
                raise BrokerError(
                    f"the broker ended while starting (exit code {self._process.returncode}): {self.last_words()}",
                    f"read {self.log}, or choose another folder with --data",
                )
            if time.monotonic() > deadline:
                raise BrokerError(f"the broker did not answer within {START_SECONDS:.0f} s", f"read {self.log}")
            on_wait()
            time.sleep(0.05)

    def _unwritable(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the folder {self.data} cannot be written: {error.strerror}",
            "choose another with --data, or free the disk",
        )


def answers(address: str) -> bool:
    """Does a Kafka broker, without security, answer there?"""
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=0.2).close()
        return bool(clients.admin(Kafka(bootstrap_servers=address)).list_topics(timeout=2).brokers)
    except (OSError, KafkaException):
        return False


def free_port(other_than: int = 0) -> int:
    """A port on loopback that nobody listens on now, and that was not given to anybody else in this process."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in GIVEN and port != other_than:
            GIVEN.add(port)
            return port


def dying_with_us() -> Callable[[], None] | None:
    """For a child, before exec: the kernel kills it when the thread that made it dies, even by kill -9."""
    if LIBC is None:
        return None
    parent, prctl = os.getpid(), LIBC.prctl

    def ask_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask_kernel


def _escaped(text: str) -> str:
    """For a Java properties file, which is Latin-1 and has escapes of its own."""
    units = memoryview(text.encode("utf-16-be")).cast("B")
    codes = [units[i] << 8 | units[i + 1] for i in range(0, len(units), 2)]
    return "".join(chr(c) if 0x20 < c < 0x7F and c != 0x5C else f"\\u{c:04x}" for c in codes)


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
