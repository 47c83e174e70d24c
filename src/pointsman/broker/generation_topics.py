"""The topics of generations: made together, deleted together, found by their number."""

from __future__ import annotations

import re

from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, generation_topics
from pointsman.broker.writer import JsonWriter
from pointsman.domain.errors import TopicTaken
from pointsman.domain.generation import Generation
from pointsman.settings import Settings


class KafkaGenerationTopics:
    """The orchestrator's GenerationTopics on a real broker."""

    def __init__(self, settings: Settings, admin: TopicAdmin) -> None:
        self._settings = settings
        self._admin = admin

    def create(self, generation: Generation) -> None:
        taken = sorted(set(generation.topics) & set(self._admin.existing()))
        if taken:
            raise TopicTaken(f"topic '{taken[0]}' exists already")
        self._admin.ensure(generation_topics(generation, self._settings))

    def delete(self, number: int) -> None:
        names = self._settings.names
        self._admin.delete([topic for topic in self._admin.existing() if names.generation_of(topic) == number])
        self._forget_counts(number)

    def numbers(self) -> frozenset[int]:
        names = self._settings.names
        found = (names.generation_of(topic) for topic in self._admin.existing())
        return frozenset(number for number in found if number is not None)

    def _forget_counts(self, number: int) -> None:
        topic = self._settings.names.counts
        ends = self._admin.end_offsets([topic])
        keys: set[str] = set()
        mine = re.compile(rf"g{number}-.+-\d+")
        with Tail(self._settings.own_cluster, self._admin.start_offsets([topic])) as tail:
            for _, _, _, key, value in tail.until(ends):
                name = (key or b"").decode(errors="replace")
                if mine.fullmatch(name):
                    keys.add(name) if value is not None else keys.discard(name)
        writer = JsonWriter(self._settings.own_cluster)
        for name in sorted(keys):
            writer.put(topic, name, None)
        writer.flush()
