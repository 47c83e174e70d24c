"""Checkpoints on the local disk without a process per file, by a Java class of our own."""

from __future__ import annotations

from pathlib import Path

from pointsman.pipeline import compiling

MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def conf(java_command: str, home: Path) -> dict[str, str]:
    """Spark settings for a session whose tasks all run in the driver, so that they find the class."""
    hadoop = compiling.SPARK_JARS.glob("hadoop-client-*.jar")
    return {
        "spark.driver.extraClassPath": str(compiling.classes(java_command, home, "LocalFiles", hadoop)),
        "spark.hadoop.fs.file.impl": "pointsman.LocalFiles",
        # The usual one goes by another interface of Hadoop's, which starts a process for each rename.
        "spark.sql.streaming.checkpointFileManagerClass": MANAGER,
    }
