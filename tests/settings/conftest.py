"""Settings as they are read: from text in a folder of the test's own, and from variables that only it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pointsman import settings
from pointsman.domain.errors import SettingsError
from pointsman.settings import Settings

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
Load = Callable[..., Settings]
Refusal = Callable[..., SettingsError]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """`load(toml, KAFKA__SASL__USER=…)`, in an empty folder that also has a `ca.pem`."""
    monkeypatch.chdir(tmp_path)
    Path("ca.pem").write_text(PEM)

    def read(toml: str = "", flags: dict[str, Any] | None = None, **env: str) -> Settings:
        Path("pointsman.toml").write_text(toml)
        return settings.load(flags, {f"POINTSMAN_{name}": value for name, value in env.items()})

    return read


@pytest.fixture
def refusal(load: Load) -> Refusal:
    def refused(toml: str = "", flags: dict[str, Any] | None = None, **env: str) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            load(toml, flags, **env)
        assert caught.value.next_step
        return caught.value

    return refused
