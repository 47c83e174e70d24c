"""`--log-format json`: every line that a process says on stderr is an object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman.cli.logbook import LogFormat, Options
from pointsman.domain.errors import FleetError
from pointsman.fleet.child import Role
from pointsman.fleet.supervision import Fleet


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "POINTSMAN_JARS": str(folder)}
    command = [sys.executable, "-m", "pointsman", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("option", [["--log-format", "json"], ["--log-format=json"]])
def test_an_error_is_an_object_with_what_to_do_next(tmp_path: Path, option: list[str]) -> None:
    lines = [json.loads(line) for line in run(tmp_path, *option, "broker").stderr.splitlines()]
    assert [set(line) - {"next"} for line in lines] == [{"ts", "level", "logger", "msg"}] * len(lines)
    assert lines[-1]["level"] == "ERROR"
    assert lines[-1]["msg"].startswith("the broker jars are missing")
    assert lines[-1]["next"].startswith("run `make setup`")


def test_text_is_the_default(tmp_path: Path) -> None:
    assert run(tmp_path, "broker").stderr.splitlines()[-2].startswith("error: the broker jars are missing")


def test_a_process_that_is_started_gets_the_same_options() -> None:
    assert Options().words == ()
    assert Options(True, LogFormat.JSON).words == ("--debug", "--log-format", "json")


def test_the_fleet_understands_the_last_words_of_a_process_that_logs_json(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pointsman", "--log-format", "json", "broker")
    fleet = Fleet([Role("broker", command, {"POINTSMAN_JARS": str(tmp_path)})], tmp_path, lambda _event: None)

    def tend_for_ever() -> None:
        while True:
            fleet.tend()

    with pytest.raises(FleetError) as failed:
        tend_for_ever()
    assert str(failed.value).startswith("the broker did not start (exit code 1): the broker jars are missing")
    assert failed.value.next_step.startswith("run `make setup`")
