"""A generation that is being built lets the live one go first, by the priorities of the operating system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pointsman.pipeline import compiling

NICE = 10  # of tasks that have stepped aside: a tenth of what each other thread gets that wants the same core
LOWEST, HIGHEST = 1, 10  # priorities of threads as Java counts them


def conf(java_command: str, home: Path) -> dict[str, str]:
    """Spark settings for a session whose tasks all run in the driver: see `pointsman.StepAside`.

    None where priorities mean something else, and where the operator has given this process a higher one than is usual:
    Java cannot be told of it.
    """
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    if sys.platform != "linux" or usual < 0:
        return {}
    jars = compiling.SPARK_JARS.glob("*.jar")
    return {
        "spark.plugins": "pointsman.StepAside",
        "spark.driver.extraClassPath": str(compiling.classes(java_command, home, "StepAside", jars)),
        "spark.driver.defaultJavaOptions": _java_options(usual),
    }


def _java_options(usual: int) -> str:
    """What makes Java hand on the lowest priority alone: root's would put its own threads over everybody else's."""
    nice = {LOWEST: min(usual + NICE, 19)}
    priorities = (f"-XX:JavaPriority{n}_To_OSPriority={nice.get(n, usual)}" for n in range(LOWEST, HIGHEST + 1))
    # Else it warns, on our standard output, that only root may raise them, and we never do.
    quiet = [] if os.geteuid() == 0 else ["-XX:-PrintWarnings"]
    return " ".join(["-XX:ThreadPriorityPolicy=1", *priorities, *quiet])


def let_go_first(spark: SparkSession, others: bool) -> None:
    """Whether the queries that this thread starts from now on step aside for others."""
    spark.sparkContext.setLocalProperty("pointsman.aside", str(others).lower())
