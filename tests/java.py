"""Java as the tests start it: for seconds or minutes, and with our classes compiled once for all."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
from pathlib import Path

# Without the second compiler, which pays off later than a test ends; the first one alone would get little room.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"


def lend_to(home: Path) -> None:
    """What a process of one home compiles, processes of the next home that a test makes find."""
    with contextlib.suppress(FileExistsError):
        (home / "java").symlink_to(_classes())


@functools.cache
def _classes() -> Path:
    """Gone when the tests are."""
    made = Path(tempfile.mkdtemp(prefix="pointsman-classes-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
