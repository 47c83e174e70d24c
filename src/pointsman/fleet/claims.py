"""Who runs what in a home folder: a file per role, locked for as long as its process may run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pointsman.domain.errors import EnvironmentProblem


@dataclass(frozen=True)
class Holder:
    """Another Pointsman that runs this role here."""

    pid: int
    port: int


class Claims:
    """The roles that we hold; `release()` gives all of them back, and so does our end, however it comes."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "run"
        self._held: dict[str, IO[str]] = {}

    def take(self, role: str) -> Holder | None:
        """Ours when this returns None; otherwise who has it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = (self._folder / f"{role}.lock").open("a+")
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            found = json.loads(file.read() or "{}")
            file.close()
            return Holder(int(found.get("pid", 0)), int(found.get("port", 0)))
        self._held[role] = file
        self.tell(role, 0)
        return None

    def holder(self, role: str) -> Holder | None:
        """Who runs this role here now, apart from us. Takes nothing and makes nothing."""
        if role in self._held or not (self._folder / f"{role}.lock").exists():
            return None
        found = self.take(role)
        if found is None:
            self._held.pop(role).close()
        return found

    def tell(self, role: str, port: int) -> None:
        """Others read there where our role listens."""
        file = self._held[role]
        try:
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"pid": os.getpid(), "port": port}))
            file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def release(self) -> None:
        while self._held:
            with contextlib.suppress(OSError):  # what could not be written cannot be written now
                self._held.popitem()[1].close()

    def _unwritable(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the folder {self._folder} cannot be written: {error.strerror}",
            "free the disk, or choose another folder with home",
        )
