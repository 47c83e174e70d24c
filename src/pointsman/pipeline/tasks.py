"""Whether a real-time query is at work: Spark says so of its tasks, long before it reports any progress."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def all_running(spark: SparkSession, query: StreamingQuery) -> bool:
    """Does every task of the query's newest job run? In real-time mode they all do, from then on, until the batch ends.

    A query starts in its own time: it plans, then opens a client for every partition, on a cold JVM for many seconds.
    """
    tracker = spark.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup(str(query.runId))
    job = tracker.getJobInfo(max(jobs)) if jobs else None
    if job is None or job.status != "RUNNING":
        return False
    stages = [tracker.getStageInfo(stage) for stage in job.stageIds]
    return all(stage is not None and stage.numActiveTasks == stage.numTasks for stage in stages)
