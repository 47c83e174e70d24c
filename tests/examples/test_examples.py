"""The examples, run as their pages say, on the shared broker: their programs, their settings, a real pipeline."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pointsman.broker.newest import newest_catalog
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin
from pointsman.settings import Settings, load
from tests.java import lend_to

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if re.match(r"\d\d_", path.name))
HIDDEN = ("_op", "_ts", "_version", "_from")


class Example:
    """One folder, with a broker and a home of the test's."""

    def __init__(self, name: str, broker: str, home: Path, prefix: str) -> None:
        self.folder, self.home = EXAMPLES / name, home
        lend_to(home)
        self.env = {"POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": broker, "POINTSMAN_HOME": str(home), "KAFKA": broker}
        self.env |= {"POINTSMAN_SPARK__DRIVER_MEMORY": "1g", **({"POINTSMAN_TOPICS__PREFIX": prefix} if prefix else {})}

    @property
    def settings(self) -> Settings:
        return load(env=self.env | {"KAFKA": ""}, toml=self.folder / "pointsman.toml")

    def run(self, *words: str, folder: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=folder or self.folder,
            env={**os.environ, **self.env, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """`pointsman pipeline` until something is live."""
        with (self.home / "pipeline.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "pointsman", "pipeline"],
                cwd=self.folder,
                env={**os.environ, **self.env},
                stdout=log,
                stderr=log,
            )
        try:
            deadline = time.monotonic() + 180
            while not self._is_live():
                assert process.poll() is None, (self.home / "pipeline.log").read_text()
                assert time.monotonic() < deadline, (self.home / "pipeline.log").read_text()
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            process.wait(30)

    def _is_live(self) -> bool:
        admin = TopicAdmin(self.settings)
        if self.settings.names.catalog not in admin.existing():
            return False
        catalog = newest_catalog(self.settings, admin)
        return catalog is not None and catalog.live is not None

    def joined(self, generation: int) -> dict[str, dict[str, Any]]:
        """The rows of a generation's changelog: key → columns."""
        settings = self.settings
        topic = settings.names.final(generation)
        ends = TopicAdmin(settings).end_offsets([topic])
        found: dict[str, dict[str, Any]] = {}
        with Tail(settings.kafka, {topic: dict.fromkeys(ends[topic], 0)}) as tail:
            for *_, key, value in tail.until(ends):
                row = json.loads(value or b"{}")
                shown = {name: cell for name, cell in row.items() if name not in HIDDEN}
                found[(key or b"").decode()] = shown if row["_op"] == "u" else {}
        return {key: row for key, row in found.items() if row}


@pytest.mark.parametrize("folder", [name for name in FOLDERS if (EXAMPLES / name / "pointsman.toml").exists()])
def test_the_settings_of_an_example_are_right(folder: str) -> None:
    load(env={}, toml=EXAMPLES / folder / "pointsman.toml")


def test_the_showcase_s_secured_settings_come_from_the_environment_and_are_complete() -> None:
    folder = EXAMPLES / "04_bishowcase"
    lines = (folder / "secured.env.example").read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    kafka = load(env=env, toml=folder / "pointsman.toml").kafka
    assert (kafka.security_protocol, kafka.sasl.mechanism) == ("SASL_SSL", "OAUTHBEARER")
    assert kafka.oidc.client_secret.get_secret_value() == env["POINTSMAN_KAFKA__OIDC__CLIENT_SECRET"]


def test_every_example_is_in_the_list() -> None:
    listed = set(re.findall(r"^\| \[(\d\d_\w+)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert listed == set(FOLDERS)


@pytest.mark.broker
@pytest.mark.spark
def test_two_topics_are_joined_and_switched_from_python(broker: str, tmp_path: Path) -> None:
    example = Example("01_two_topics", broker, tmp_path, "ex01.")
    assert example.run("send.py").returncode == 0
    with example.pipeline():
        rows = example.joined(1)
        assert rows["u1"] == {
            "userId": "u1", "name": "Ada", "email": "ada@example.org", "age": 36,
            "accountType": "current", "balance": 12.5,
        }  # fmt: skip
        assert rows["u2"]["name"] == "Bo"
        assert "balance" not in rows["u2"]

        switching = EXAMPLES / "03_switch_from_python"
        topics = {"CONTROL": "ex01.control", "VERDICTS": "ex01.verdicts"}
        done = example.run("switch.py", '{"joinType": "inner"}', folder=switching, **topics)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["verdict"] == "applied"
        assert set(example.joined(2)) == {"u1"}
        refused = example.run("switch.py", '{"joinType": "sideways"}', folder=switching, **topics)
        assert refused.returncode == 1
        assert json.loads(refused.stdout)["verdict"] == "refused"


@pytest.mark.broker
@pytest.mark.spark
def test_three_sources_are_joined_on_a_number(broker: str, tmp_path: Path) -> None:
    example = Example("02_three_sources", broker, tmp_path, "ex02.")
    assert example.run("send.py").returncode == 0
    with example.pipeline():
        rows = example.joined(1)
    assert set(rows) == {"1", "2", "3"}
    assert rows["1"] == {
        "customerId": 1, "name": "Ada", "balance": 10.0, "accounts_since": "2019",
        "limit": 500.0, "blocked": False, "cards_since": "2021",
    }  # fmt: skip


@pytest.mark.broker
@pytest.mark.spark
def test_the_showcase_runs_on_names_of_the_company_and_keeps_to_its_allow_list(broker: str, tmp_path: Path) -> None:
    example = Example("04_bishowcase", broker, tmp_path, "")
    assert example.run("send.py").returncode == 0
    with example.pipeline():
        assert example.joined(1)["u1"]["balance"] == 12.5
        refused = example.run("-m", "pointsman", "switch", "--users-topic", "users", "--wait")
        assert refused.returncode == 1
        assert "refused" in refused.stdout
