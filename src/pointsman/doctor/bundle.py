"""A support bundle: what somebody who helps from afar asks for first, in one file that can be read before it is sent.

It holds the settings with secrets masked, what the doctor found, what is installed, and what our own topics say of
states and happenings. It holds no record of a source, no dead letter and no log.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pointsman import settings
from pointsman.broker import java, reach
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import EnvironmentProblem, PointsmanError
from pointsman.settings import Settings
from pointsman.settings.load import gather

PACKAGES = ("pointsman", "pyspark", "deephaven-server", "confluent-kafka", "starlette", "uvicorn", "pydantic")
NEWEST = 200  # of what happened
WHOLE = 1_000_000  # of what is rewritten in place
READ_SECONDS = 20.0


def write(path: Path, findings: Sequence[Finding]) -> None:
    """For its owner's eyes only, until they choose to send it. Raises EnvironmentProblem where it cannot be written."""
    text = json.dumps(made(findings), indent=2, ensure_ascii=False, default=str) + "\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise EnvironmentProblem(
            f"{path} cannot be written: {error.strerror}", "choose another file with --bundle"
        ) from error


def made(findings: Sequence[Finding]) -> dict[str, Any]:
    """Whatever cannot be had is there as the error that says why."""
    return {
        "made": time.time(),
        "versions": _versions(),
        "doctor": [finding.to_json() for finding in findings],
        "settings": _or_error(_settings),
        "topics": _or_error(_topics),
    }


def _or_error(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return look()
    except PointsmanError as error:
        return {"error": str(error), "next": error.next_step}


def _versions() -> dict[str, Any]:
    def of(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    found: dict[str, Any] = {name: of(name) for name in PACKAGES}
    found |= {"python": sys.version, "system": platform.platform(), "cores": os.cpu_count()}
    found["java"] = _or_error(lambda: {"command": java.java_command()})
    found |= {f"{kind} jars": _or_error(partial(_jars, kind)) for kind in ("spark", "broker")}
    return found


def _jars(kind: str) -> dict[str, Any]:
    return {"files": sorted(path.name for path in java.jars(kind).glob("*.jar"))}


def _settings() -> dict[str, Any]:
    """Secrets are masked by their type, and no setting of another type takes one."""
    return {
        "values": settings.load().model_dump(mode="json"),
        "origins": gather({}, os.environ, None).origins,
    }


def _topics() -> dict[str, Any]:
    loaded = settings.load()
    reach.require(loaded)
    admin, names = TopicAdmin(loaded), loaded.names
    wanted = {
        names.catalog: 1,
        names.status: 1,
        names.tables: WHOLE,
        names.counts: WHOLE,
        names.journal: NEWEST,
        names.verdicts: NEWEST,
    }
    said = {topic: _or_error(partial(_newest, loaded, admin, topic, most)) for topic, most in wanted.items()}
    return {"partitions": admin.existing(), **said}


def _newest(loaded: Settings, admin: TopicAdmin, topic: str, most: int) -> dict[str, Any]:
    """The last word under each key; where there are no keys, the last records."""
    starts, ends = admin.start_offsets([topic])[topic], admin.end_offsets([topic])[topic]
    begin = {p: max(start, ends[p] - 2 * max(most, NEWEST)) for p, start in starts.items()}  # half may be markers
    found: dict[str, Any] = {}
    with Tail(loaded.own_cluster, {topic: begin}) as tail:
        for _, partition, offset, key, value in tail.until({topic: ends}, READ_SECONDS):
            name = f"{partition}-{offset}" if key is None else key.decode(errors="replace")
            found.pop(name, None)
            if value is not None:
                found[name] = _json(value)
    return dict(list(found.items())[-most:])


def _json(value: bytes) -> Any:
    text = value.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text
