"""What every measurement stands on: a broker of its own, and topics that no other measurement has touched."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.child import Child
from pointsman import settings as settings_module
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics, generation_topics
from pointsman.domain.generation import Generation, State
from pointsman.settings import Settings

# The broker stamps what it appends: the end of a wave is then known without reading the wave.
STAMPED = {"message.timestamp.type": "LogAppendTime"}
SOURCES = ("users", "accounts")


@dataclass(frozen=True)
class Plot:
    """The topics, settings and folder of one measurement."""

    settings: Settings
    admin: TopicAdmin
    folder: Path

    @property
    def broker(self) -> str:
        return self.settings.kafka.bootstrap_servers

    def topic(self, source: str) -> str:
        return self.settings.sources[source].topic

    def generation(self, number: int) -> Generation:
        """As the orchestrator would make it; its topics exist when this returns."""
        made = make_generation(self.settings, number)
        plans = [replace(p, config={**p.config, **STAMPED}) for p in generation_topics(made, self.settings)]
        self.make(plans)
        return made

    def make_output(self, name: str) -> str:
        """A topic for another system's result, made like a final changelog."""
        final = generation_topics(make_generation(self.settings, 1), self.settings)[-1]
        topic = f"{self.settings.topics.prefix}{name}"
        self.make([replace(final, name=topic, config={**final.config, **STAMPED})])
        return topic

    def make(self, plans: Sequence[TopicPlan]) -> None:
        """The topics are not only accepted but visible when this returns, which on a busy broker is later."""
        self.admin.ensure(plans)
        deadline = time.monotonic() + 60
        while missing := {p.name for p in plans} - set(self.admin.existing()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"made, and not visible after a minute: {', '.join(sorted(missing))}")
            time.sleep(0.05)

    def end(self, topics: list[str]) -> int:
        """Records ever written to these topics."""
        return sum(end for offsets in self.admin.end_offsets(topics).values() for end in offsets.values())

    def clear(self) -> None:
        prefixes = (self.settings.topics.prefix, *(self.topic(s) for s in SOURCES))
        self.admin.delete([name for name in self.admin.existing() if name.startswith(prefixes)])
        shutil.rmtree(self.folder, ignore_errors=True)


def make_generation(settings: Settings, number: int) -> Generation:
    spec, names = settings.spec(), settings.names
    return Generation(
        number=number,
        state=State.BUILDING,
        spec=spec,
        views={s.name: names.view(number, s.name) for s in spec.sources},
        final=names.final(number),
        checkpoint=f"{settings.checkpoints}/g{number}",
    )


class Ground:
    """Owns the broker and the folder; leaving `with` ends the one and empties the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)
        shutil.rmtree(folder, ignore_errors=True)
        self._broker = EmbeddedBroker(folder / "broker", free_port(), heap="1g")

    def plot(self, name: str, partitions: int = 1, **sections: Mapping[str, Any]) -> Plot:
        number = next(self._numbers)
        folder = self.folder / f"{number}-{name}"
        folder.mkdir(parents=True)
        # The defaults are measured, whatever this machine has in its own settings.
        (folder / "empty.toml").touch()
        sources = {s: {"topic": f"b{number}.{s}"} for s in SOURCES}
        settings = settings_module.load(
            env={},
            toml=folder / "empty.toml",
            flags={
                "home": str(folder / "home"),
                "kafka": {"bootstrap_servers": self._broker.address},
                "topics": {"prefix": f"pm{number}."},
                "control": {"topic": f"pm{number}.control"},
                "sources": sources,
                **sections,
            },
        )
        admin = TopicAdmin(settings)
        plot = Plot(settings, admin, folder)
        plot.make(fixed_topics(settings))
        plot.make([TopicPlan(s["topic"], partitions, {"retention.ms": "-1"}) for s in sources.values()])
        return plot

    def child(self, plot: Plot, command: list[str], env: Mapping[str, str] | None = None) -> Child:
        return Child(command, self.folder / f"{plot.folder.name}.log", env)

    @contextmanager
    def without_broker(self) -> Iterator[None]:
        """The broker is gone inside, and answers again, with all that it had, afterwards."""
        self._broker.stop()
        try:
            yield
        finally:
            self._broker.start()

    def __enter__(self) -> Ground:
        self._broker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broker.stop()
        if kind is None:
            shutil.rmtree(self.folder / "broker", ignore_errors=True)
