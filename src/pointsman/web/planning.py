"""What a control message would do, without sending it: the orchestrator's own rules on the catalog as it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pointsman.broker.source_check import KafkaSourceCheck
from pointsman.broker.topics import TopicAdmin
from pointsman.domain import cutover
from pointsman.domain.catalog import Catalog
from pointsman.domain.control import ControlMessage, Rules, topic_problem
from pointsman.domain.cutover import Limits
from pointsman.domain.spec import Source
from pointsman.domain.verdict import Outcome
from pointsman.orchestrator.intake import fold
from pointsman.settings import Settings


class Planner:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rules = Rules(tuple(settings.sources), settings.topics.prefix, settings.control.allow_topics)
        cut = settings.cutover
        self._limits = Limits(cut.linger_seconds, cut.max_lingering, cut.build_deadline_seconds)

    def topics(self) -> list[dict[str, Any]]:
        """The topics that a control message may name, with partitions and how many records they hold now."""
        admin = TopicAdmin(self._settings)
        found = {
            name: partitions
            for name, partitions in sorted(admin.existing().items())
            if topic_problem(name, self._rules) is None and name != self._settings.control.topic
        }
        if not found:
            return []
        starts, ends = admin.start_offsets(found), admin.end_offsets(found)
        return [
            {
                "name": name,
                "partitions": partitions,
                "records": sum(ends[name][p] - start for p, start in starts[name].items()),
            }
            for name, partitions in found.items()
        ]

    def plan(self, message: bytes, catalog: Catalog) -> dict[str, Any]:
        """The verdict that the message would get, what each newly named source looks like, and the steps."""
        sources = KafkaSourceCheck(self._settings, TopicAdmin(self._settings))
        checks: dict[str, tuple[str, list[str]]] = {}

        def check(source: Source) -> Sequence[str]:
            problems = list(sources.check(source))
            checks[source.name] = (source.topic, problems)
            return problems

        if catalog.wanted is None:
            catalog = catalog.wanting(self._settings.spec())
        now = time.time()
        write = fold(
            catalog, [ControlMessage(0, 0, message)], rules=self._rules, limits=self._limits, check=check, now=now
        )
        mine = next((v for v in write.verdicts if v.key == "0-0"), None)
        refused = mine is not None and mine.outcome is Outcome.REFUSED
        return {
            "outcome": (mine.outcome if mine else Outcome.APPLIED).value,
            "reason": mine.reason if mine else "",
            "ignored": list(mine.ignored if mine else write.catalog.pending[-1].ignored),
            "checks": [self._seen(name, topic, problems) for name, (topic, problems) in checks.items()],
            "steps": [] if refused else [str(step) for step in cutover.plan(write.catalog, now, self._limits)],
        }

    def _seen(self, source: str, topic: str, problems: Sequence[str]) -> Mapping[str, Any]:
        says = "; ".join(problems) or f"'{topic}' can be read"
        return {"source": source, "topic": topic, "ok": not problems, "says": says}
