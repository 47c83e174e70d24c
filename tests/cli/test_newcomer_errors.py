"""Every error that a newcomer can make, made: what is said names the cause and the next step, without a traceback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.domain.catalog import KEY
from pointsman.settings import Settings
from tests.secured.certificates import Authority

ROOT = Path(__file__).parents[2]
NO_MAVEN = "Maven (mvn) was not found; it resolves the Kafka jars. Next: install Maven 3.8+, then run make setup again."
NO_NPM = "npm was not found; it builds the page. Next: install Node 20.19 or newer, then run make setup again."


class Said:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


Command = Callable[..., Said]


@pytest.fixture
def pointsman(tmp_path: Path) -> Command:
    """Runs `pointsman …` in an empty folder, with these variables and no others of ours."""

    def run(*words: str, most_bytes: int | None = None, **env: str) -> Said:
        """`most_bytes`: the largest file that it may write."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("POINTSMAN_") or k == "POINTSMAN_JARS"}
        command = [sys.executable, "-m", "pointsman", *words]
        if most_bytes is not None:
            command = ["bash", "-c", f'ulimit -f {most_bytes}; exec "$@"', "bash", *command]
        done = subprocess.run(
            command, cwd=tmp_path, env={**clean, **env}, capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done)

    return run


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return folder


def test_no_java(pointsman: Command, tmp_path: Path) -> None:
    said = pointsman("broker", PATH=str(tmp_path), JAVA_HOME="")
    assert said.code == 1
    assert "error: Java was not found (PATH)\nnext: install a Java 17 or 21 (a JDK)" in said.err


def test_java_11(pointsman: Command, tmp_path: Path) -> None:
    said = pointsman("broker", JAVA_HOME=str(fake_java(tmp_path / "jdk", "11.0.2")))
    assert said.code == 1
    assert "error: Java 11 was found" in said.err
    assert "Pointsman needs Java 17 or 21\nnext: " in said.err


def test_the_jars_were_never_resolved(pointsman: Command, tmp_path: Path) -> None:
    said = pointsman("broker", POINTSMAN_JARS=str(tmp_path / "none"))
    assert said.code == 1
    assert "error: the broker jars are missing" in said.err
    assert "next: run `make setup`" in said.err


class Bare:
    """The real Makefile, in a folder where only the tools that it cannot do without are found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tools = folder / "bin"
        tools.mkdir()
        for name in ("bash", "sh", "find", "touch", "rm", "test", "python3"):
            (tools / name).symlink_to(shutil.which(name) or name)
        (folder / "web").mkdir()
        for name in ("Makefile", "pyproject.toml", "requirements.lock", "pom.xml", "web/package.json"):
            shutil.copy(ROOT / name, folder / name)
        shutil.copy(ROOT / "web/package-lock.json", folder / "web")

    def __call__(self, target: str) -> subprocess.CompletedProcess[str]:
        make = shutil.which("make")
        assert make
        path = {"PATH": str(self.folder / "bin")}
        return subprocess.run(
            [make, target], cwd=self.folder, env=path, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path)


@pytest.mark.parametrize(
    ("target", "words"), [("build/jars/.resolved", NO_MAVEN), ("web/node_modules/.installed", NO_NPM)]
)
def test_no_maven_or_npm(bare: Bare, target: str, words: str) -> None:
    done = bare(target)
    assert done.returncode != 0
    assert words in done.stderr


def test_what_set_up_needs_is_said_at_once_and_all_of_it(bare: Bare) -> None:
    """Not after minutes of installing something else."""
    done = bare("setup")
    assert done.returncode != 0
    assert NO_MAVEN in done.stderr
    assert NO_NPM in done.stderr
    assert not (bare.folder / ".venv").exists()


@pytest.mark.parametrize("verb", ["web", "broker"])
def test_port_busy(pointsman: Command, verb: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = pointsman(verb, "--port", port)
    assert said.code == 1
    assert port in said.err.splitlines()[-2]
    assert "Address already in use" in said.err
    assert "choose another with --port" in said.err


def test_a_certificate_that_is_not_there_or_not_that_of_the_key(pointsman: Command, tmp_path: Path) -> None:
    first, second = (Authority(tmp_path / name).sign("page") for name in ("first", "second"))
    certificate, key = "POINTSMAN_WEB__TLS_CERTIFICATE", "POINTSMAN_WEB__TLS_KEY"
    port = str(free_port())
    said = pointsman("web", "--port", port, **{certificate: "nowhere.pem", key: str(first.key)})
    assert said.code == 1
    assert "error: web.tls_certificate: nowhere.pem cannot be read: No such file or directory" in said.err
    said = pointsman("web", "--port", port, **{certificate: str(first.cert), key: str(second.key)})
    assert said.code == 1
    assert f"cannot be used with the key in {second.key}: key values mismatch" in said.err
    assert "next: give a PEM file with the certificate first" in said.err


@pytest.mark.parametrize("verb", ["pipeline", "tables", "status", "logs", "plan", "topics", "feed"])
def test_broker_unreachable_is_said_at_once(pointsman: Command, verb: str) -> None:
    server = f"127.0.0.1:{free_port()}"
    said = pointsman(verb, POINTSMAN_KAFKA__BOOTSTRAP_SERVERS=server)
    assert said.code == 1
    assert f"error: the broker cannot be reached: {server}: nobody answers there: Connection refused" in said.err
    assert "next: start a broker (`pointsman broker`), or check kafka.bootstrap_servers" in said.err


def test_broker_with_a_name_that_nobody_knows(pointsman: Command) -> None:
    said = pointsman("status", POINTSMAN_KAFKA__BOOTSTRAP_SERVERS="no-such-host.invalid:9092")
    assert said.code == 1
    assert "the name no-such-host.invalid is not known here" in said.err
    assert "DNS or VPN" in said.err


def test_a_typo_in_the_toml(pointsman: Command, tmp_path: Path) -> None:
    (tmp_path / "pointsman.toml").write_text('[kafka]\nbootstrap_server = "x:1"\n')
    said = pointsman("up")
    assert said.code == 1
    assert "error: kafka.bootstrap_server: is not a setting" in said.err
    assert "did you mean 'bootstrap_servers'? (from pointsman.toml)" in said.err


def test_a_toml_that_is_none(pointsman: Command, tmp_path: Path) -> None:
    (tmp_path / "pointsman.toml").write_text("[kafka\n")
    said = pointsman("up")
    assert said.code == 1
    assert "error: pointsman.toml is not TOML" in said.err


def test_an_unknown_column_type(pointsman: Command, tmp_path: Path) -> None:
    (tmp_path / "pointsman.toml").write_text('[sources.users.columns]\nuserId = "string"\nage = "integer"\n')
    said = pointsman("up")
    assert said.code == 1
    assert "sources.users.columns.age: must be 'string', 'long', 'double' or 'boolean'" in said.err


class TestTheDiskIsFull:
    """A file that takes nothing stands for a disk that does."""

    def test_of_a_settings_file(self, pointsman: Command) -> None:
        said = pointsman("init", "--force", "/dev/full")
        assert said.code == 1
        assert "error: /dev/full cannot be written: No space left on device" in said.err

    def test_of_the_demo(self, pointsman: Command, tmp_path: Path) -> None:
        (tmp_path / "demo").mkdir()
        (tmp_path / "demo" / "pointsman.toml").symlink_to("/dev/full")
        said = pointsman("demo", "--folder", "demo")
        assert said.code == 1
        assert f"error: the folder {tmp_path / 'demo'} cannot be written: No space left on device" in said.err
        assert "next: choose another with --folder" in said.err

    def test_of_the_broker(self, pointsman: Command, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "server.properties").symlink_to("/dev/full")
        said = pointsman("broker", "--data", "data", "--port", str(free_port()))
        assert said.code == 1
        assert f"error: the folder {tmp_path / 'data'} cannot be written: No space left on device" in said.err
        assert "next: choose another with --data, or free the disk" in said.err

    def test_of_a_home_that_takes_a_name_and_no_more(self, pointsman: Command) -> None:
        """As the limit of what a process may write, which fails where a full disk does: at the first byte."""
        said = pointsman("up", "--only", "web", most_bytes=0, POINTSMAN_HOME="home")
        assert said.code == 1
        assert "error: the folder home/run cannot be written: File too large" in said.err
        assert "next: free the disk, or choose another folder with home" in said.err


def test_home_cannot_be_written(pointsman: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for verb in (["broker"], ["up"], ["demo", "--folder", "file/demo"]):
        said = pointsman(*verb, POINTSMAN_HOME="file/home")
        assert said.code == 1
        assert "cannot be written: Not a directory" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["up", "--only", "pipelines"], "'pipelines' is none of broker, pipeline, tables, web"),
        (["swich"], "No such command 'swich'"),
        (["switch"], "name a topic or a join"),
    ],
)
def test_what_cannot_be_meant_is_exit_code_2(pointsman: Command, words: list[str], told: str) -> None:
    said = pointsman(*words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


@pytest.mark.broker
def test_a_topic_that_is_missing(pointsman: Command, live_settings: Settings) -> None:
    admin = TopicAdmin(live_settings)
    topic = live_settings.sources["users"].topic
    admin.ensure([TopicPlan(topic)])
    said = pointsman("doctor", **environment(live_settings, users=topic[:-1]))
    assert said.code == 1
    assert f"topic '{topic[:-1]}' does not exist, or may not be seen by us; did you mean '{topic}'?" in said.out
    assert "next: create it, grant DESCRIBE and READ on it, or set sources.users.topic" in said.out


@pytest.mark.broker
def test_a_catalog_from_another_version(pointsman: Command, live_settings: Settings) -> None:
    TopicAdmin(live_settings).ensure(fixed_topics(live_settings))
    producer = clients.producer(live_settings.kafka)
    producer.produce(live_settings.names.catalog, json.dumps({"format": 99}), KEY)
    assert producer.flush(10) == 0
    said = pointsman("plan", "--join", "inner", **environment(live_settings))
    assert said.code == 1
    assert "99" in said.err
    assert "next: " in said.err


def environment(settings: Settings, users: str = "") -> dict[str, str]:
    return {
        "POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
        "POINTSMAN_TOPICS__PREFIX": settings.topics.prefix,
        "POINTSMAN_SOURCES__USERS__TOPIC": users or settings.sources["users"].topic,
        "POINTSMAN_SOURCES__ACCOUNTS__TOPIC": settings.sources["accounts"].topic,
    }
