"""What the orchestrator needs of the world. `pointsman.memory` has all of it in memory.

Every method may raise a PointsmanError, which the orchestrator answers as the docstring says; anything else is
a defect and ends the process, which is safe at every instant: the next start goes on from the catalog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pointsman.domain.catalog import Catalog
from pointsman.domain.control import ControlMessage
from pointsman.domain.generation import Generation
from pointsman.domain.journal import Entry
from pointsman.domain.progress import Phase, Progress
from pointsman.domain.spec import Source
from pointsman.domain.status import Status
from pointsman.domain.verdict import Verdict

__all__ = [
    "CatalogStore",
    "Checkpoints",
    "ControlFeed",
    "Engine",
    "GenerationTopics",
    "Phase",
    "Ports",
    "Progress",
    "SourceCheck",
    "TablesServers",
]


class Engine(Protocol):
    """Runs the queries of generations, restarts those that die, and knows how far they are."""

    def start(self, generation: Generation) -> None:
        """Begins a build in the background: catch-up, then real time. Returns at once.

        Raises NoRoom when slots are missing now; any other PointsmanError fails the build.
        """

    def resume(self, generation: Generation) -> None:
        """Goes on from the checkpoint, or starts where there is none yet. Does nothing if it runs already."""

    def progress(self, number: int) -> Progress:
        """Of a generation that was started or resumed here. Never raises, never blocks for long.

        After `resume`, `ready` is true only when it holds again: readiness is not remembered.
        """

    def stop(self, number: int) -> bool:
        """Asks its queries to end, and returns at once: whether none of them runs any more.

        To be called again until it says so, which it does for unknown numbers too. Until then the generation's
        topics and checkpoint may still be written to.
        """

    def close(self) -> None:
        """Ends the queries of every generation. None of them runs when this returns, unless a deadline has passed."""


class GenerationTopics(Protocol):
    def create(self, generation: Generation) -> None:
        """Makes its topics. Raises TopicTaken, having made none, if one of them exists."""

    def delete(self, number: int) -> None:
        """Deletes every topic with that generation's number. Idempotent."""

    def numbers(self) -> frozenset[int]:
        """The generations that have a topic."""


class Checkpoints(Protocol):
    def place(self, number: int) -> str:
        """Where that generation's checkpoint is, or will be."""

    def delete(self, number: int) -> None:
        """Idempotent."""

    def numbers(self) -> frozenset[int]:
        """The generations that have a checkpoint."""


class SourceCheck(Protocol):
    def check(self, source: Source) -> Sequence[str]:
        """Why this source cannot be read, as sentences that name the topic and what is allowed; empty if it can."""


class TablesServers(Protocol):
    def holding(self, number: int, now: float) -> Sequence[str]:
        """The living tables servers that have this generation loaded."""


class ControlFeed(Protocol):
    def open(self, position: Mapping[int, int]) -> None:
        """Reads on from these offsets; a partition that is not named, from its beginning."""

    def poll(self) -> Sequence[ControlMessage]:
        """What has come since the last call: each once, in order within a partition, a bounded number."""

    def behind(self) -> bool:
        """Whether there are messages, known to be there, that poll has not returned yet."""


class CatalogStore(Protocol):
    def load(self) -> Catalog | None:
        """Fences out every earlier writer, then reads what they left. None where there is no catalog yet."""

    def commit(self, catalog: Catalog, verdicts: Sequence[Verdict] = (), entries: Sequence[Entry] = ()) -> None:
        """Catalog, verdicts and journal entries: all of them or none, visible at one instant.

        Raises FencedOut, having written nothing, when another orchestrator has taken over.
        """

    def report(self, status: Status | None, entries: Sequence[Entry] = ()) -> None:
        """What is true now, and what happened that changes no catalog. Raises FencedOut like commit."""


@dataclass(frozen=True)
class Ports:
    engine: Engine
    topics: GenerationTopics
    checkpoints: Checkpoints
    sources: SourceCheck
    tables: TablesServers
    feed: ControlFeed
    store: CatalogStore
