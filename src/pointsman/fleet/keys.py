"""Keys that nobody has set: made once, and kept in home for their owner's eyes only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pointsman.domain.errors import EnvironmentProblem

KEY_BYTES = 24


def kept_key(home: Path, name: str) -> str:
    """The key of this name, the same at every start."""
    path = home / "keys" / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and (found := path.read_text().strip()):
            return found
        key = secrets.token_urlsafe(KEY_BYTES)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(key + "\n")
        return key
    except OSError as error:
        raise EnvironmentProblem(
            f"the folder {home} cannot be written: {error.strerror}", "free the disk, or choose another with home"
        ) from error
