"""A generation that is being built lets the live one go first, by the priorities of the operating system."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from pointsman.pipeline import compiling

NICE = 10  # of tasks that have stepped aside: a tenth of a core is theirs even where others want all


def conf(java_command: str, home: Path) -> dict[str, str]:
    """Spark settings for a session whose tasks all run in the driver: see `pointsman.StepAside`."""
    jars = compiling.SPARK_JARS.glob("*.jar")
    return {
        "spark.plugins": "pointsman.StepAside",
        "spark.driver.extraClassPath": str(compiling.classes(java_command, home, "StepAside", jars)),
        "spark.driver.extraJavaOptions": _java_options(),
    }


def _java_options() -> str:
    """What makes Java hand priorities on, all but those that it would give its own compiler over everybody else."""
    options = f"-XX:ThreadPriorityPolicy=1 -XX:JavaPriority1_To_OSPriority={NICE} -XX:CompilerThreadPriority=0"
    # Else it warns, on our standard output, that only root may raise them, and we never do.
    return options if os.geteuid() == 0 else f"{options} -XX:-PrintWarnings"


def let_go_first(spark: SparkSession, others: bool) -> None:
    """Whether the queries that this thread starts from now on step aside for others."""
    spark.sparkContext.setLocalProperty("pointsman.aside", str(others).lower())
