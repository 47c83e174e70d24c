"""What the topics say, for Prometheus. Made anew at every scrape."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pointsman.domain.errors import CatalogError
from pointsman.domain.generation import State
from pointsman.domain.status import Health
from pointsman.domain.verdict import Outcome
from pointsman.web.mirror import Mirror
from pointsman.web.tallies import BUCKETS, Durations, Tallies

SERVER_LIVES_SECONDS = 10.0
RESULTS = ("published", "rolled_back", "failed", "cancelled")


class Metrics(Collector):
    def __init__(self, mirror: Mirror, tallies: Tallies) -> None:
        self._mirror, self._tallies = mirror, tallies
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        yield from self._status()
        yield from self._generations()
        yield from self._counts()
        yield from self._happenings()
        yield from self._servers()

    def _status(self) -> Iterable[Metric]:
        status = self._mirror.status
        if status is None:
            return
        age = max(0.0, time.time() - float(status["at"]))
        yield GaugeMetricFamily("pointsman_heartbeat_age_seconds", "time since the pipeline's last heartbeat", age)
        state = GaugeMetricFamily("pointsman_state", "1 for the state that the system is in", labels=["state"])
        for health in Health:
            state.add_metric([health.value], float(status.get("state") == health.value))
        yield state
        gauges = {
            "generation": ("pointsman_live_generation", "number of the live generation"),
            "freshness": ("pointsman_freshness_seconds", "how far what is shown is behind the sources"),
            "rate": ("pointsman_records_per_second", "records that the live generation reads per second"),
        }
        for field, (name, text) in gauges.items():
            value = status.get(field)
            if isinstance(value, int | float):
                yield GaugeMetricFamily(name, text, value)
        lags = GaugeMetricFamily(
            "pointsman_source_lag_records", "records of a source that are not shown yet", labels=["source"]
        )
        known = status.get("lags")
        for source, lag in sorted(known.items() if isinstance(known, Mapping) else ()):
            lags.add_metric([source], lag)
        yield lags

    def _servers(self) -> Iterable[Metric]:
        living = [s for s in self._mirror.servers if float(s.get("at", 0)) > time.time() - SERVER_LIVES_SECONDS]
        yield GaugeMetricFamily("pointsman_tables_servers", "tables servers that live", len(living))
        viewers = GaugeMetricFamily("pointsman_viewers", "clients that follow a table", labels=["server"])
        for server in living:
            if isinstance(count := server.get("viewers"), int):
                viewers.add_metric([str(server.get("server"))], count)
        yield viewers

    def _generations(self) -> Iterable[Metric]:
        try:
            catalog = self._mirror.catalog
        except CatalogError:
            return
        if catalog is None:
            return
        tally = Tally(g.state for g in catalog.generations.values())
        family = GaugeMetricFamily("pointsman_generations", "generations that exist", labels=["state"])
        for state in State:
            family.add_metric([state.value], tally[state])
        yield family
        info = GaugeMetricFamily(
            "pointsman_generation_info", "1 for each generation", labels=["generation", "state", "join", "topics"]
        )
        for number, generation in sorted(catalog.generations.items()):
            topics = ",".join(source.topic for source in generation.spec.sources)
            info.add_metric([str(number), generation.state.value, generation.spec.join.value, topics], 1)
        yield info
        yield CounterMetricFamily("pointsman_publishes", "generations published, ever", catalog.publishes)

    def _counts(self) -> Iterable[Metric]:
        kinds = {"read": "read", "joined": "joined", "offJoin": "kept off the join", "deadLetters": "dead letters"}
        family = CounterMetricFamily(
            "pointsman_records",
            "records per generation, source and topic, by what became of them: " + ", ".join(kinds),
            labels=["generation", "source", "topic", "kind"],
        )
        totals: Tally[tuple[str, str, str, str]] = Tally()
        for count in self._mirror.counts:
            for kind in kinds:
                place = (str(count.get("generation")), str(count.get("source")), str(count.get("topic")), kind)
                totals[place] += int(count.get(kind) or 0)
        for place, total in totals.items():
            family.add_metric(list(place), total)
        yield family

    def _happenings(self) -> Iterable[Metric]:
        known = {outcome.value: 0 for outcome in Outcome}
        messages = CounterMetricFamily("pointsman_control_messages", "control messages answered", labels=["verdict"])
        for verdict, count in sorted((known | self._tallies.verdicts()).items()):
            messages.add_metric([verdict], count)
        yield messages
        switches = CounterMetricFamily("pointsman_switches", "switches, by how they ended", labels=["result"])
        for result in RESULTS:
            switches.add_metric([result], self._tallies.switches().get(result, 0))
        yield switches
        phases = HistogramMetricFamily(
            "pointsman_switch_phase_seconds", "how long the phases of a switch took", labels=["phase"]
        )
        for phase, durations in self._tallies.phases().items():
            phases.add_metric([phase], _buckets(durations), durations.total)
        yield phases
        letters = CounterMetricFamily("pointsman_dead_letters", "dead letters", labels=["reason"])
        for reason, count in sorted(self._tallies.dead_letters().items()):
            letters.add_metric([reason], count)
        yield letters


def _buckets(durations: Durations) -> list[tuple[str, float]]:
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    return list(zip(bounds, accumulate(durations.counts), strict=True))
