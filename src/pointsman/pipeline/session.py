"""The one Spark session of a pipeline process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from pointsman.broker import java, security
from pointsman.domain.errors import PipelineError
from pointsman.pipeline import aside, compiling, local_files, slots, state_store
from pointsman.settings import Settings

REDACTED = "(?i)secret|password|token|access[.]?key|credential|jaas|keystore"
LOOK_SECONDS = 0.25
# While the collector works, the join stands still. So it aims at short pauses, and does not look for classes to unload
# whenever it marks what lives (30 ms): there is next to none, and those go once there is so much of them.
COLLECTOR = "-XX:MaxGCPauseMillis=5 -XX:-ClassUnloadingWithConcurrentMark -XX:MetaspaceSize=512m"
# They move the filter on parsed records below the parsing, so that each record is parsed once more for every question.
PUSH_DOWN = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PushDownPredicates", "PushPredicateThroughNonJoin")
)

# Where all tasks run in the driver. As many dispatchers as slots otherwise, which are no cores here, and the collector
# looks at every thread there is.
LOCAL = {"spark.rpc.netty.dispatcher.numThreads": "4"}
# What each of these names is added to what others name.
LISTS = {
    "spark.jars": ",",
    "spark.plugins": ",",
    "spark.driver.extraClassPath": os.pathsep,
    "spark.driver.defaultJavaOptions": " ",
    "spark.sql.optimizer.excludedRules": ",",
}


def open_session(settings: Settings, source_partitions: int) -> SparkSession:
    """A session that can run a generation over this many source partitions, or PipelineError.

    Spark's own log goes to spark.log in home. The JVM ends with this process.
    """
    java_command = java.java_command()
    os.environ.setdefault("JAVA_HOME", str(Path(java_command).resolve().parents[1]))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    state_partitions = settings.pipeline.shuffle_partitions
    master = settings.spark.master or slots.local_master(source_partitions, state_partitions)
    told = slots.told_by(master)
    if settings.pipeline.mode == "real-time" and told is not None:
        slots.check(told, source_partitions, state_partitions, master)
    conf, home = _defaults(settings, source_partitions), settings.home.absolute()
    secrets = security.spark_secrets(settings)
    found = [*compiling.SPARK_JARS.glob("*.jar"), *java.jars("spark").glob("*.jar")]
    for name in ("RecordReader", *(["SessionSecrets"] if secrets else [])):
        conf["spark.jars"] += f",{compiling.jar(java_command, home, name, found)}"
    if master == "local" or master.startswith("local["):
        for part in (LOCAL, local_files.conf(java_command, home), aside.conf(java_command, home)):
            conf = together(conf, part)
    conf = together(conf, settings.spark.conf)
    try:
        spark = _started(master, conf, secrets)
    except Exception as error:
        raise PipelineError(
            f"Spark did not start on {master}: {str(error).strip().splitlines()[0]}",
            f"read {_log_file(settings)}, and check spark.master and spark.driver_memory",
        ) from error
    if settings.pipeline.mode == "real-time":
        try:
            wanted = slots.needed(source_partitions, state_partitions)
            slots.check(available_slots(spark, wanted), source_partitions, state_partitions, master)
        except PipelineError:
            spark.stop()
            raise
    return spark


def together(conf: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Both. Where they name the same setting, that of `more` holds, or comes last if the setting is a list."""
    lists = conf.keys() & more.keys() & LISTS.keys()
    return {**conf, **more, **{name: f"{conf[name]}{LISTS[name]}{more[name]}" for name in lists}}


def _started(master: str, conf: dict[str, str], secrets: dict[str, str]) -> SparkSession:
    """The secrets are for the session alone: what pyspark starts the JVM with, `ps` shows."""
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(conf.items())).setMaster(master))
    builder = SparkSession.builder.master(master).appName("pointsman")
    for name, value in (conf | secrets).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def available_slots(spark: SparkSession, wanted: int, wait_seconds: float = 30) -> int:
    """Cores of all executors. A cluster's register one by one, after the session starts: `wanted` are waited for."""
    context = spark.sparkContext
    if (context.master or "").startswith("local"):
        return context.defaultParallelism
    deadline = time.monotonic() + wait_seconds
    while (found := _executor_cores(spark)) < wanted and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return found


def _executor_cores(spark: SparkSession) -> int:
    infos = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    executors = max(len(infos) - 1, 0)
    per_executor = spark.conf.get("spark.executor.cores", None)
    return executors * int(per_executor) if per_executor else spark.sparkContext.defaultParallelism * bool(executors)


def _defaults(settings: Settings, source_partitions: int) -> dict[str, str]:
    state_partitions = settings.pipeline.shuffle_partitions
    wait = settings.pipeline.shuffle_wait_ms or slots.shuffle_wait_ms(
        source_partitions, state_partitions, os.cpu_count() or 1
    )
    system = "".join(f" -D{name}={value}" for name, value in security.java_system_properties(settings).items())
    java_options = f"{COLLECTOR}{system}"
    return {
        "spark.jars": ",".join(str(jar) for jar in sorted(java.jars("spark").glob("*.jar"))),
        "spark.driver.memory": settings.spark.driver_memory,
        # Those of `extraJavaOptions` come after them, wherever an operator names some.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={_log_config(settings)} {java_options}",
        "spark.executor.defaultJavaOptions": java_options,
        "spark.redaction.regex": REDACTED,
        "spark.sql.redaction.options.regex": f"{REDACTED}|url",
        "spark.ui.enabled": "false",
        # What it knows of tasks is at most a heartbeat old otherwise, and a heartbeat is ten seconds: see tasks.py.
        "spark.ui.liveUpdate.period": "0",
        # Nobody looks at what has ended, and a process that switches for months would keep a thousand of each.
        "spark.ui.retainedJobs": "5",
        "spark.ui.retainedStages": "10",
        "spark.ui.retainedTasks": "200",
        "spark.sql.ui.retainedExecutions": "2",
        "spark.sql.streaming.ui.retainedQueries": "1",
        # Clients of a generation that was freed, and what they have fetched, would be kept for five minutes.
        **{f"spark.kafka.consumer.{kept}.timeout": "10s" for kept in ("cache", "fetchedData.cache")},
        **{f"spark.kafka.consumer.{kept}.evictorThreadRunInterval": "10s" for kept in ("cache", "fetchedData.cache")},
        "spark.log.structuredLogging.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(state_partitions),
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": str(wait),
        "spark.sql.adaptive.enabled": "false",
        # Its code would be written anew at every checkpoint, while the join stands still; records gain nothing by it.
        "spark.sql.codegen.wholeStage": "false",
        **state_store.conf(state_partitions),
        # Every state store and log would keep four threads for it that never end, and the file system has its own.
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        "spark.sql.optimizer.excludedRules": PUSH_DOWN,
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.streaming.numRecentProgressUpdates": "10",
        "spark.sql.session.timeZone": "UTC",
        # It would ask the JVM several times over for every expression of a plan: seconds, on a busy machine.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }


def _log_file(settings: Settings) -> Path:
    return settings.home.absolute() / "spark.log"


def _log_config(settings: Settings) -> Path:
    """Spark logs every task that we stop as an error with a page of stack: to a file, bounded, with those left out."""
    path = settings.home.absolute() / "spark-log4j2.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOG4J.format(file=_log_file(settings)))
    return path


LOG4J = """\
Configuration:
  status: error
  Appenders:
    RollingFile:
      name: file
      fileName: "{file}"
      filePattern: "{file}.%i"
      PatternLayout: {{pattern: "%d{{ISO8601}} %p %c{{1}}: %m%n%rEx{{8}}"}}
      Policies: {{SizeBasedTriggeringPolicy: {{size: 10MB}}}}
      DefaultRolloverStrategy: {{max: 2}}
  Loggers:
    logger:
      - {{name: org.apache.spark.sql.execution.datasources.v2, level: fatal}}
      - {{name: org.apache.spark.executor.Executor, level: fatal}}
    Root: {{level: warn, AppenderRef: [{{ref: file}}]}}
"""
