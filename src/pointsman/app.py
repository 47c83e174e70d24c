"""The only wiring: settings in, a running process out."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pointsman.broker.feeds import KafkaControlFeed, KafkaTablesServers
from pointsman.broker.generation_topics import KafkaGenerationTopics
from pointsman.broker.source_check import KafkaSourceCheck
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.domain.control import Rules
from pointsman.domain.cutover import Limits
from pointsman.orchestrator import Orchestrator, run
from pointsman.pipeline.checkpoints import SparkCheckpoints
from pointsman.pipeline.engine import SparkEngine
from pointsman.pipeline.rehearsal import Rehearsal
from pointsman.pipeline.session import open_session
from pointsman.ports import Checkpoints, Engine, Ports
from pointsman.settings import Settings

ASSUMED_PARTITIONS = 2  # of all sources, where none of their topics is there yet


def run_pipeline(settings: Settings, asked: threading.Event, said: Callable[[str], None]) -> None:
    """The orchestrator and Spark, until asked to stop. `said` gets one line per phase of the start."""
    said(f"broker {settings.own_cluster.bootstrap_servers}: making sure of our own topics")
    admin = TopicAdmin(settings)
    admin.ensure(fixed_topics(settings))
    said("starting Spark")
    spark = open_session(settings, _source_partitions(settings, admin))
    rehearsal = Rehearsal()
    engine = SparkEngine(spark, settings, admin, rehearsal)
    try:
        run_orchestrator(
            settings,
            admin,
            engine,
            SparkCheckpoints(spark, settings),
            asked=asked,
            on_ready=lambda: said(f"ready: following {settings.control.topic}"),
        )
    finally:
        rehearsal.end()
        spark.stop()


def run_orchestrator(
    settings: Settings,
    admin: TopicAdmin,
    engine: Engine,
    checkpoints: Checkpoints,
    *,
    asked: threading.Event,
    on_ready: Callable[[], None],
) -> None:
    """The orchestrator with these queries and everything else on Kafka, until asked to stop; then no query runs."""
    store = KafkaCatalogStore(settings, asked.is_set)
    tables, feed = KafkaTablesServers(settings), KafkaControlFeed(settings, admin)
    ports = Ports(
        engine=engine,
        topics=KafkaGenerationTopics(settings, admin),
        checkpoints=checkpoints,
        sources=KafkaSourceCheck(settings, admin),
        tables=tables,
        feed=feed,
        store=store,
    )
    orchestrator = Orchestrator(
        ports,
        settings=settings.spec(),
        rules=Rules(tuple(settings.sources), settings.topics.prefix, settings.control.allow_topics),
        names=settings.names,
        limits=Limits(
            settings.cutover.linger_seconds, settings.cutover.max_lingering, settings.cutover.build_deadline_seconds
        ),
    )
    try:
        run(orchestrator, asked, on_ready=on_ready)
    finally:
        store.close()
        feed.close()
        tables.close()


def _source_partitions(settings: Settings, admin: TopicAdmin) -> int:
    existing = admin.existing()
    return sum(existing.get(s.topic, 0) for s in settings.sources.values()) or ASSUMED_PARTITIONS
