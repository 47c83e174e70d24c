"""The whole examination, in the order in which one thing needs another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pointsman import settings
from pointsman.doctor import findings, kafka, machine, room, tables
from pointsman.doctor.findings import Finding
from pointsman.domain.errors import SettingsError
from pointsman.fleet.launch import names_broker
from pointsman.settings.load import ENV_FILE, TOML, gather


def examine() -> Iterator[Finding]:
    """Of the settings that this folder and this environment give. Each finding comes as soon as it is known."""
    try:
        loaded = settings.load()
        needs_broker = not names_broker(gather({}, os.environ, None).origins)
    except SettingsError as error:
        yield findings.of("settings", error)
        return
    file = Path(os.environ.get(ENV_FILE) or TOML)
    where = f"{file} and the environment" if file.is_file() else "the environment and the defaults; there is no file"
    yield findings.ok("settings", f"from {where}")
    yield from machine.examine(loaded, needs_broker)
    yield from kafka.examine(loaded)
    yield from tables.examine(loaded)
    yield room.examine(loaded)
