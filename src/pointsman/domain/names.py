"""What our topics are called. Everything starts with one prefix, so that one ACL covers it."""

from __future__ import annotations

import re
from dataclasses import dataclass

RESERVED_SOURCE_NAMES = frozenset(
    {"final", "catalog", "status", "journal", "verdicts", "tables", "dead-letters", "control", "counts"}
)


@dataclass(frozen=True)
class TopicNames:
    prefix: str = "pointsman."

    @property
    def catalog(self) -> str:
        return f"{self.prefix}catalog"

    @property
    def status(self) -> str:
        return f"{self.prefix}status"

    @property
    def journal(self) -> str:
        return f"{self.prefix}journal"

    @property
    def verdicts(self) -> str:
        return f"{self.prefix}verdicts"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}dead-letters"

    @property
    def tables(self) -> str:
        return f"{self.prefix}tables"

    @property
    def counts(self) -> str:
        return f"{self.prefix}counts"

    def view(self, generation: int, source: str) -> str:
        return f"{self.prefix}g{generation}.{source}"

    def final(self, generation: int) -> str:
        return f"{self.prefix}g{generation}.final"

    def generation_of(self, topic: str) -> int | None:
        """The generation that a topic belongs to; None for every other topic."""
        match = re.fullmatch(re.escape(self.prefix) + r"g(\d+)\..+", topic)
        return int(match[1]) if match else None
