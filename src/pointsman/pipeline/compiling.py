"""Java classes of our own for Spark's machine, compiled once per version into the home folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyspark

from pointsman.domain.errors import EnvironmentProblem

SOURCES = Path(__file__).parent / "java" / "pointsman"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
RELEASE = "17"  # the oldest Java that Spark runs on: an executor's may be older than ours


def classes(java_command: str, home: Path, name: str, class_path: Iterable[Path]) -> Path:
    """The folder with the class `pointsman.<name>`.

    It is renamed when it is whole, so that a start that is cut short leaves no half of it.
    """
    source = SOURCES / f"{name}.java"
    fingerprint = hashlib.sha256(f"{pyspark.__version__} {RELEASE}".encode() + source.read_bytes()).hexdigest()[:16]
    made = home / "java" / f"spark-{fingerprint}"
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        target = Path(folder) / "classes"
        compiler = [java_command, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "--release", RELEASE]
        ran = subprocess.run(
            [*compiler, "-cp", os.pathsep.join(map(str, class_path)), "-d", str(target), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            said = (ran.stdout + ran.stderr).strip()
            raise EnvironmentProblem(
                f"Java did not compile our class: {said[:500]}", "install a JDK 17 or 21, not a JRE"
            )
        _take(target, made)
    return made


def jar(java_command: str, home: Path, name: str, class_path: Iterable[Path]) -> Path:
    """The same as a jar, for executors: Spark sends them nothing else."""
    folder = classes(java_command, home, name, class_path)
    path = folder / f"{name}.jar"
    if not path.exists():
        unfinished = folder / f"{name}.{os.getpid()}"
        with zipfile.ZipFile(unfinished, "w") as archive:
            for file in sorted(folder.rglob("*.class")):
                archive.write(file, file.relative_to(folder))
        unfinished.replace(path)
    return path


def _take(made: Path, place: Path) -> None:
    try:
        made.replace(place)
    except OSError:
        if not place.exists():  # else another process was quicker, with the same classes
            raise
