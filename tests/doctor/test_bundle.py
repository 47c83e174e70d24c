"""The support bundle: enough to help by, nothing to keep secret, and also there when nothing else is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pointsman.broker import clients
from pointsman.broker.embedded import free_port
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.cli import app
from pointsman.settings import Settings

SECRETS = {
    "POINTSMAN_KAFKA__SASL__PASSWORD": "canaryPassword11aa",
    "POINTSMAN_KAFKA__SSL__KEY_PASSWORD": "canaryKeyPassword22bb",
    "POINTSMAN_KAFKA__OIDC__CLIENT_SECRET": "canaryClientSecret33cc",
    "POINTSMAN_TABLES__KEY": "canaryViewer44dd",
    "POINTSMAN_WEB__OPERATOR_KEY": "canaryOperator55ee",
}


@pytest.fixture(autouse=True)
def settings_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POINTSMAN_HOME", str(tmp_path))
    monkeypatch.setenv("POINTSMAN_KAFKA__BOOTSTRAP_SERVERS", f"127.0.0.1:{free_port()}")
    for name in ("TABLES", "WEB"):
        monkeypatch.setenv(f"POINTSMAN_{name}__PORT", str(free_port()))


def bundle() -> dict[str, Any]:
    done = CliRunner().invoke(app, ["doctor", "--bundle", "bundle.json"])
    assert "wrote bundle.json" in done.output
    assert Path("bundle.json").stat().st_mode & 0o777 == 0o600
    found: dict[str, Any] = json.loads(Path("bundle.json").read_text())
    return found


@pytest.mark.broker
def test_it_holds_findings_versions_settings_and_what_our_topics_say(
    live_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POINTSMAN_KAFKA__BOOTSTRAP_SERVERS", live_settings.kafka.bootstrap_servers)
    monkeypatch.setenv("POINTSMAN_TOPICS__PREFIX", live_settings.topics.prefix)
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    names = live_settings.names
    TopicAdmin(live_settings).ensure(fixed_topics(live_settings))
    producer = clients.producer(live_settings.kafka)
    for number in range(250):
        producer.produce(names.journal, json.dumps({"msg": f"entry {number}"}))
        producer.produce(names.status, json.dumps({"state": "SERVING", "at": number}), "status")
    producer.produce(names.tables, json.dumps({"server": "gone"}), "gone")
    producer.produce(names.tables, None, "gone")
    producer.produce(names.tables, json.dumps({"server": "here"}), "here")
    producer.produce(names.dead_letters, json.dumps({"payload": "of a customer"}), "users-0-1")
    assert producer.flush(10) == 0

    found = bundle()
    assert {finding["check"] for finding in found["doctor"]} >= {"settings", "java", "broker"}
    assert found["versions"]["pyspark"] == "4.3.0"
    assert any(name.startswith("kafka-clients") for name in found["versions"]["spark jars"]["files"])
    assert found["settings"]["values"]["kafka"]["bootstrap_servers"] == live_settings.kafka.bootstrap_servers
    assert found["settings"]["values"]["tables"]["key"] == "**********"
    assert found["settings"]["origins"]["tables.key"] == "the variable POINTSMAN_TABLES__KEY"
    topics = found["topics"]
    assert topics[names.status] == {"status": {"state": "SERVING", "at": 249}}
    assert topics[names.tables] == {"here": {"server": "here"}}
    assert [entry["msg"] for entry in topics[names.journal].values()] == [f"entry {n}" for n in range(50, 250)]
    text = Path("bundle.json").read_text()
    assert "of a customer" not in text
    assert "canary" not in text


def test_it_is_written_at_once_when_there_is_no_broker_and_says_so() -> None:
    began = time.monotonic()
    found = bundle()
    assert time.monotonic() - began < 15  # a client that tries by itself takes half a minute to give up
    assert "the broker cannot be reached" in found["topics"]["error"]
    assert found["settings"]["values"]["join"]["type"] == "left"


def test_it_is_written_when_the_settings_are_wrong_without_quoting_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POINTSMAN_KAFKA__SASL__PASSWORD", SECRETS["POINTSMAN_KAFKA__SASL__PASSWORD"])
    Path("pointsman.toml").write_text("[cutover]\nlinger_seconds = -1\n")
    found = bundle()
    assert "cutover.linger_seconds" in found["settings"]["error"]
    assert "canary" not in Path("bundle.json").read_text()


def test_a_file_that_cannot_be_written_is_said() -> None:
    done = CliRunner().invoke(app, ["doctor", "--bundle", "/dev/full"])
    assert "/dev/full cannot be written: No space left on device" in str(done.exception)
