"""Finding a Java that will do, and saying so when there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pointsman.domain.errors import EnvironmentProblem

ALLOWED = (17, 21)
NEXT = "install a Java 17 or 21 (a JDK), or set JAVA_HOME to one"


def java_command() -> str:
    """The `java` to run: from JAVA_HOME, else from PATH; 17 or 21."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if not found or not Path(found).is_file():
        raise EnvironmentProblem(f"Java was not found ({where})", NEXT)
    try:
        shown = _version(found)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentProblem(f"Java ({where}) does not start: {error}", NEXT) from error
    version = re.search(r'version "(\d+)(?:\.(\d+))?', shown)
    if not version:
        raise EnvironmentProblem(f"Java ({where}) does not say its version: {shown.strip()[:200]}", NEXT)
    major = int(version[2] or 8) if version[1] == "1" else int(version[1])
    if major not in ALLOWED:
        raise EnvironmentProblem(f"Java {major} was found ({where}); Pointsman needs Java 17 or 21", NEXT)
    return found


def _version(java: str) -> str:
    """In a process group of its own: a Ctrl-C meant for us must not look like a broken Java."""
    command = [java, "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, process_group=0).stderr


def jars(name: str) -> Path:
    """The folder of jars that set-up resolved: `spark` or `broker`."""
    root = os.environ.get("POINTSMAN_JARS")
    folder = (Path(root) if root else Path(__file__).parents[3] / "build" / "jars") / name
    if not any(folder.glob("*.jar")):
        raise EnvironmentProblem(
            f"the {name} jars are missing: {folder} holds none",
            "run `make setup`, or set POINTSMAN_JARS to a folder with the jars of pom.xml",
        )
    return folder
