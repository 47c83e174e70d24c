"""Every port in memory: a whole world for the orchestrator, in which time is a number and crashes are cheap.

`World` is what survives a process (broker, checkpoints, tables servers); `World.process()` is a new process in it,
whose start fences out the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointsman.domain.catalog import Catalog
from pointsman.domain.control import ControlMessage, did_you_mean
from pointsman.domain.errors import FencedOut, TopicTaken
from pointsman.domain.generation import Generation
from pointsman.domain.journal import Entry
from pointsman.domain.progress import Phase, Progress
from pointsman.domain.spec import Source
from pointsman.domain.status import Status
from pointsman.domain.verdict import Verdict
from pointsman.ports import Ports


@dataclass
class World:
    control: list[bytes | None] = field(default_factory=list)  # one partition; the index is the offset
    catalog: bytes | None = None
    commits: list[Catalog] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    journal: list[Entry] = field(default_factory=list)
    status: Status | None = None
    writer: int = 0  # the newest process that may write
    readable: set[str] = field(default_factory=set)  # source topics that exist and parse
    changelogs: dict[int, tuple[str, ...]] = field(default_factory=dict)  # generation → topics
    checkpoints: set[int] = field(default_factory=set)
    loaded: dict[str, set[int]] = field(default_factory=dict)  # living tables server → generations

    def send(self, value: bytes | str | None) -> int:
        """A control message; its offset."""
        self.control.append(value.encode() if isinstance(value, str) else value)
        return len(self.control) - 1

    def process(self) -> Ports:
        """The ports of a process that starts now. Whatever ran before is dead: nothing of it is running here."""
        return Ports(
            engine=MemoryEngine(self),
            topics=MemoryTopics(self),
            checkpoints=MemoryCheckpoints(self),
            sources=MemorySources(self),
            tables=MemoryTables(self),
            feed=MemoryFeed(self),
            store=MemoryStore(self),
        )

    def verdict_of(self, offset: int) -> Verdict | None:
        return next((v for v in self.verdicts if v.offset == offset), None)


class MemoryEngine:
    """Queries that are as far as they are told to be."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._progress: dict[int, Progress] = {}
        self.slow_to_stop: set[int] = set()  # these go on running after `stop`, until `end`

    def start(self, generation: Generation) -> None:
        self._world.checkpoints.add(generation.number)
        self._progress.setdefault(generation.number, Progress(Phase.CATCHING_UP))

    def resume(self, generation: Generation) -> None:
        self.start(generation)

    def progress(self, number: int) -> Progress:
        return self._progress[number]

    def stop(self, number: int) -> bool:
        if number not in self.slow_to_stop:
            self._progress.pop(number, None)
        return number not in self._progress

    def end(self, number: int) -> None:
        """What was asked to stop, and was slow, does."""
        self.slow_to_stop.discard(number)
        self._progress.pop(number, None)

    def close(self) -> None:
        self._progress.clear()

    @property
    def running(self) -> frozenset[int]:
        return frozenset(self._progress)

    def catch_up(self, number: int) -> None:
        """Ready, if it runs; news of one that does not is too late to matter."""
        self.tell(number, phase=Phase.REAL_TIME, ready=True, read_to=self._world_ends(number))

    def tell(self, number: int, **changes: object) -> None:
        if number in self._progress:
            self._progress[number] = replace(self._progress[number], **changes)  # type: ignore[arg-type]

    def _world_ends(self, number: int) -> Mapping[str, Mapping[int, int]]:
        return {topic: {0: 0} for topic in self._world.changelogs.get(number, ())}


class MemoryTopics:
    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, generation: Generation) -> None:
        if generation.number in self._world.changelogs:
            raise TopicTaken(f"generation {generation.number} has topics already")
        self._world.changelogs[generation.number] = generation.topics

    def delete(self, number: int) -> None:
        self._world.changelogs.pop(number, None)

    def numbers(self) -> frozenset[int]:
        return frozenset(self._world.changelogs)


class MemoryCheckpoints:
    def __init__(self, world: World) -> None:
        self._world = world

    def place(self, number: int) -> str:
        return f"memory:g{number}"

    def delete(self, number: int) -> None:
        self._world.checkpoints.discard(number)

    def numbers(self) -> frozenset[int]:
        return frozenset(self._world.checkpoints)


class MemorySources:
    def __init__(self, world: World) -> None:
        self._world = world

    def check(self, source: Source) -> Sequence[str]:
        if source.topic in self._world.readable:
            return ()
        return [f"topic '{source.topic}' does not exist{did_you_mean(source.topic, sorted(self._world.readable))}"]


class MemoryTables:
    def __init__(self, world: World) -> None:
        self._world = world

    def holding(self, number: int, now: float) -> Sequence[str]:  # noqa: ARG002 who is listed lives
        return [server for server, loaded in self._world.loaded.items() if number in loaded]


class MemoryFeed:
    def __init__(self, world: World, most: int = 1000) -> None:
        self._world, self._next, self._most = world, 0, most

    def open(self, position: Mapping[int, int]) -> None:
        self._next = position.get(0, 0)

    def poll(self) -> Sequence[ControlMessage]:
        values = self._world.control[self._next : self._next + self._most]
        found = [ControlMessage(0, self._next + i, value) for i, value in enumerate(values)]
        self._next += len(found)
        return found

    def behind(self) -> bool:
        return self._next < len(self._world.control)


class MemoryStore:
    def __init__(self, world: World) -> None:
        self._world, self._me = world, 0

    def load(self) -> Catalog | None:
        self._me = self._world.writer = self._world.writer + 1
        return None if self._world.catalog is None else Catalog.from_bytes(self._world.catalog)

    def commit(self, catalog: Catalog, verdicts: Sequence[Verdict] = (), entries: Sequence[Entry] = ()) -> None:
        self._not_fenced_out()
        self._world.catalog = catalog.to_bytes()
        self._world.commits.append(catalog)
        self._world.verdicts += verdicts
        self._world.journal += entries

    def report(self, status: Status | None, entries: Sequence[Entry] = ()) -> None:
        self._not_fenced_out()
        self._world.status = status or self._world.status
        self._world.journal += entries

    def _not_fenced_out(self) -> None:
        if self._me != self._world.writer:
            raise FencedOut("another orchestrator has taken over", "stop this one, or give it another topics.prefix")
