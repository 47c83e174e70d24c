"""What the doctor finds, and what it says to do about it."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.cli import app
from pointsman.doctor import kafka, machine
from pointsman.doctor.checkup import examine
from pointsman.doctor.findings import Finding, Level
from pointsman.fleet.claims import Claims
from pointsman.settings import Settings, load


class Usage(NamedTuple):
    free: int


def by_check(found: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in found}


def here(folder: Path, **flags: object) -> Settings:
    return load(env={}, flags={"home": str(folder), "web": {"port": free_port()}, **flags})


class TestMachine:
    @pytest.mark.parametrize(("free", "level"), [(2**20, Level.PROBLEM), (2**30, Level.WARNING), (2**40, Level.OK)])
    def test_room_on_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _place: Usage(free))
        found = by_check(list(machine.examine(here(tmp_path / "not" / "there"), needs_broker=False)))["disk"]
        assert found.level is level
        assert bool(found.next_step) is (level is not Level.OK)

    def test_a_port_that_our_own_fleet_holds_is_fine_and_another_program_s_is_not(self, tmp_path: Path) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            settings = here(tmp_path, tables={"port": port})
            taken = by_check(list(machine.examine(settings, needs_broker=False)))["tables port"]
            assert taken.level is Level.WARNING
            assert f"127.0.0.1:{port} is taken by" in taken.says
            claims = Claims(tmp_path)
            claims.take("tables")
            assert by_check(list(machine.examine(settings, False)))["tables port"].level is Level.OK
            claims.release()

    def test_broken_java_is_a_problem(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        found = by_check(list(machine.examine(here(tmp_path), needs_broker=True)))["java"]
        assert found.level is Level.PROBLEM
        assert "JDK" in found.next_step


def test_wrong_settings_are_the_only_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pointsman.toml").write_text("[web]\nport = 0\n")
    [found] = examine()
    assert (found.check, found.level) == ("settings", Level.PROBLEM)
    assert "web.port" in found.says


def test_nobody_at_the_address_ends_the_broker_s_part(tmp_path: Path) -> None:
    server = f"127.0.0.1:{free_port()}"
    found = list(kafka.examine(here(tmp_path, kafka={"bootstrap_servers": server})))
    assert [f.level for f in found] == [Level.PROBLEM, Level.SKIPPED]
    assert "nobody answers there" in found[0].says


@pytest.mark.broker
def test_each_source_is_judged_by_its_newest_records(live_settings: Settings) -> None:
    users, accounts = (live_settings.sources[name].topic for name in ("users", "accounts"))
    TopicAdmin(live_settings).ensure([TopicPlan(users, 2), TopicPlan(accounts)])

    def judged() -> dict[str, Finding]:
        return by_check(list(kafka.examine(live_settings)))

    first = judged()
    assert first["source users"].says == f"topic '{users}', 2 partitions: can be read, and is empty"
    assert "still to be made, which is permitted" in first["our topics"].says
    producer = clients.producer(live_settings.kafka)
    for value in (b'{"userId": "u1", "age": 3}', b'{"userId": "u1", "age": "three"}'):
        producer.produce(users, value)
    producer.produce(accounts, b"<xml/>")
    assert producer.flush(10) == 0
    second = judged()
    assert second["source users"].level is Level.WARNING
    assert "1 of the newest 2 records do not fit: the last has \"three\" for 'age'" in second["source users"].says
    assert second["source accounts"].level is Level.PROBLEM
    assert "sources.accounts.columns" in second["source accounts"].next_step


@pytest.mark.broker
def test_the_verb_prints_findings_or_json_and_fails_on_a_problem(
    live_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POINTSMAN_KAFKA__BOOTSTRAP_SERVERS", live_settings.kafka.bootstrap_servers)
    monkeypatch.setenv("POINTSMAN_TABLES__PORT", str(free_port()))
    monkeypatch.setenv("POINTSMAN_SOURCES__USERS__TOPIC", "no.such.topic.anywhere")
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == 1
    told = json.loads(done.output)
    assert told["ok"] is False
    levels = {finding["check"]: finding["level"] for finding in told["findings"]}
    assert levels["broker"] == "ok"
    assert levels["source users"] == "problem"
    assert levels["tables"] == "warning"
    shown = CliRunner().invoke(app, ["doctor"]).output
    assert "problem  source users: topic 'no.such.topic.anywhere' does not exist" in shown
    assert "         next: create it" in shown
