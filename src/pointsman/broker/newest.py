"""The newest word of a topic that is rewritten in place, for whoever asks once."""

from __future__ import annotations

from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin
from pointsman.domain.catalog import KEY, Catalog
from pointsman.settings import Settings

NEAR_THE_END = 50  # offsets, some of which are markers of transactions


def newest_catalog(settings: Settings, admin: TopicAdmin) -> Catalog | None:
    """None where there is none yet."""
    data = newest(settings, admin, settings.names.catalog, KEY)
    return None if data is None else Catalog.from_bytes(data)


def newest(settings: Settings, admin: TopicAdmin, topic: str, key: str) -> bytes | None:
    """The last value under this key in the topic's first partition."""
    start, end = admin.start_offsets([topic])[topic][0], admin.end_offsets([topic])[topic][0]
    for begin in dict.fromkeys((max(start, end - NEAR_THE_END), start)):
        found: bytes | None = None
        with Tail(settings.own_cluster, {topic: {0: begin}}) as tail:
            for *_, name, value in tail.until({topic: {0: end}}):
                found = value if name == key.encode() else found
        if found is not None:
            return found
    return None
