"""Checkpoints on the local disk without a process per file: a Java class of our own, compiled once per version."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import pyspark

from pointsman.domain.errors import EnvironmentProblem

SOURCE = Path(__file__).parent / "java" / "pointsman" / "LocalFiles.java"
MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def conf(java_command: str, home: Path) -> dict[str, str]:
    """Spark settings for a session whose tasks all run in the driver, so that they find the class."""
    return {
        "spark.driver.extraClassPath": str(_classes(java_command, home)),
        "spark.hadoop.fs.file.impl": "pointsman.LocalFiles",
        # The usual one goes by another interface of Hadoop's, which starts a process for each rename.
        "spark.sql.streaming.checkpointFileManagerClass": MANAGER,
    }


def _classes(java_command: str, home: Path) -> Path:
    """The folder is renamed when it is whole, so that a start that is cut short leaves no half of it."""
    fingerprint = hashlib.sha256(pyspark.__version__.encode() + SOURCE.read_bytes()).hexdigest()[:16]
    classes = home / "java" / f"spark-{fingerprint}"
    if classes.exists():
        return classes
    classes.parent.mkdir(parents=True, exist_ok=True)
    jars = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar")
    with tempfile.TemporaryDirectory(dir=classes.parent) as folder:
        made = Path(folder) / "classes"
        compiler = [java_command, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none"]
        ran = subprocess.run(
            [*compiler, "-cp", os.pathsep.join(map(str, jars)), "-d", str(made), str(SOURCE)],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            said = (ran.stdout + ran.stderr).strip()
            raise EnvironmentProblem(
                f"Java did not compile our class: {said[:500]}", "install a JDK 17 or 21, not a JRE"
            )
        _take(made, classes)
    return classes


def _take(made: Path, classes: Path) -> None:
    try:
        made.replace(classes)
    except OSError:
        if not classes.exists():  # else another process was quicker, with the same classes
            raise
