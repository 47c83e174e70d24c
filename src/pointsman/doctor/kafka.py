"""The broker, from the name to the records: each check needs those before it."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.broker import identity
from pointsman.broker.permissions import Permissions
from pointsman.broker.reach import addresses, all_servers
from pointsman.broker.refusals import no_token
from pointsman.broker.source_check import newest_values
from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.doctor import findings
from pointsman.doctor.findings import Finding
from pointsman.domain.control import did_you_mean
from pointsman.domain.errors import BrokerError
from pointsman.domain.record import problem
from pointsman.domain.spec import Source
from pointsman.settings import Settings

SAMPLE = 100  # newest records of each partition


def examine(settings: Settings) -> Iterator[Finding]:
    reached = [finding for servers in all_servers(settings) for finding in _reach(servers)]
    yield from reached
    yield from _tokens(settings)
    if not any(finding.level is findings.Level.OK for finding in reached):
        yield findings.skipped("broker", "none of its addresses answers")
        return
    admin = TopicAdmin(settings)
    try:
        topics = admin.existing()
    except BrokerError as error:
        yield findings.of("broker", error)
        return
    yield findings.ok("broker", f"lets us in and shows {len(topics)} topics")
    yield from _ours(settings, topics)
    for source in settings.spec().sources:
        yield from _source(settings, admin, source, topics)


def _reach(servers: str) -> Iterator[Finding]:
    for address in addresses(servers):
        check = f"address {address.server}"
        if address.answers:
            yield findings.ok(check, address.says)
        else:
            yield findings.problem(check, address.says, address.next_step)


def _tokens(settings: Settings) -> Iterator[Finding]:
    """Of each identity provider, once: brokers say no more than that they do not know us."""
    clusters = (settings.kafka, settings.own_cluster, settings.control_cluster)
    for kafka in {(c.oidc.token_endpoint, c.oidc.client_id): c for c in clusters if identity.is_asked(c)}.values():
        wrong = identity.problem(kafka)
        if wrong is None:
            yield findings.ok("tokens", f"{kafka.oidc.token_endpoint} gives them to client '{kafka.oidc.client_id}'")
        else:
            yield findings.of("tokens", no_token("none are given", wrong, kafka))


def _ours(settings: Settings, topics: dict[str, int]) -> Iterator[Finding]:
    missing = [plan.name for plan in fixed_topics(settings) if plan.name not in topics]
    try:
        permitted = Permissions(settings).on_cluster()
    except BrokerError as error:
        yield findings.warning("our topics", str(error), error.next_step)
        return
    if not missing:
        yield findings.ok("our topics", f"all are there, under {settings.topics.prefix}*")
    elif permitted is None or "CREATE" in permitted:
        yield findings.ok("our topics", f"{len(missing)} are still to be made, which is permitted")
    else:
        says = f"{', '.join(missing)} are missing, and we may not create topics on the whole cluster"
        step = f"grant CREATE on topics that start with '{settings.topics.prefix}', or make them beforehand"
        yield findings.warning("our topics", says, step)


def _source(settings: Settings, admin: TopicAdmin, source: Source, topics: dict[str, int]) -> Iterator[Finding]:
    check = f"source {source.name}"
    if source.topic not in topics:
        meant = did_you_mean(
            source.topic, sorted(t for t in topics if not t.startswith(("__", settings.topics.prefix)))
        )
        says = f"topic '{source.topic}' does not exist, or may not be seen by us{meant}"
        yield findings.problem(
            check, says, f"create it, grant DESCRIBE and READ on it, or set sources.{source.name}.topic"
        )
        return
    try:
        permitted = Permissions(settings).on_topic(source.topic)
        if permitted is not None and "READ" not in permitted:
            says = f"topic '{source.topic}' may not be read by us"
            yield findings.problem(check, says, "grant READ on it")
            return
        values = newest_values(settings, admin, source.topic, SAMPLE)
    except BrokerError as error:
        yield findings.of(check, error)
        return
    yield _judged(check, source, topics[source.topic], values)


def _judged(check: str, source: Source, partitions: int, values: list[bytes | None]) -> Finding:
    where = f"topic '{source.topic}', {partitions} partitions"
    bad = [found for found in (problem(value, source) for value in values) if found]
    if not values:
        return findings.ok(check, f"{where}: can be read, and is empty")
    if not bad:
        return findings.ok(check, f"{where}: the newest {len(values)} records fit")
    says = f"{where}: {len(bad)} of the newest {len(values)} records do not fit: the last {bad[-1]}"
    step = f"compare sources.{source.name}.columns with what the records hold"
    return (findings.problem if len(bad) == len(values) else findings.warning)(check, says, step)
