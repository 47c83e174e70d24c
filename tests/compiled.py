"""Our Java classes, compiled once in a run of the tests: each home that a test makes borrows them."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
from pathlib import Path


def lend_to(home: Path) -> None:
    """What a process of one home compiles, processes of the next home find."""
    with contextlib.suppress(FileExistsError):
        (home / "java").symlink_to(_classes())


@functools.cache
def _classes() -> Path:
    """Gone when the tests are."""
    made = Path(tempfile.mkdtemp(prefix="pointsman-classes-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
