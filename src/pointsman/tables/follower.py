"""Follows the catalog: loads generations as they appear, shows the live one, lets go of the freed ones."""

from __future__ import annotations

import logging
import threading
import time

from pointsman.broker.refusals import of_java
from pointsman.domain.catalog import Catalog
from pointsman.tables import schema
from pointsman.tables.application import Application
from pointsman.tables.catalog_feed import CatalogFeed
from pointsman.tables.loaded import LoadedGeneration
from pointsman.tables.plan import Load, Release, Show, plan
from pointsman.tables.presence import Presence

log = logging.getLogger(__name__)
WAITING_SECONDS = 0.01  # while a switch or a release is due
IDLE_SECONDS = 0.2


class Follower(threading.Thread):
    """One thread; `stop()` returns when it has ended and every reader is closed."""

    def __init__(self, application: Application, feed: CatalogFeed, presence: Presence) -> None:
        super().__init__(name="pointsman-follower", daemon=True)
        self._application = application
        self._feed = feed
        self._presence = presence
        self._loaded: dict[int, LoadedGeneration] = {}
        self._unfit: set[int] = set()
        self._shown: int | None = None
        self._stopping = threading.Event()
        self._since: dict[int, float] = {}
        self._refused_of_released = 0
        self._complaint, self._explanation = "", ""  # a reader's words, and what they mean

    def run(self) -> None:
        self._application.list_generations(self._feed.latest)
        while not self._stopping.is_set():
            try:
                self._step()
            except Exception:
                # The tables on screen must outlive any surprise here; the next round starts from the catalog again.
                log.exception("following the catalog failed; trying again")
                self._stopping.wait(1)

    def stop(self) -> None:
        self._stopping.set()
        self.join(20)
        for generation in self._loaded.values():
            generation.release()
        self._presence.leave()
        self._feed.close()

    def _step(self) -> None:
        busy = self._perform(self._feed.latest)
        self._presence.tell(self._loaded, self._shown, self._refused(), self._application.viewers, self._problem())
        if self._feed.follow(WAITING_SECONDS if busy else IDLE_SECONDS):
            self._application.list_generations(self._feed.latest)

    def _perform(self, catalog: Catalog) -> bool:
        """Takes the steps that can be taken; True while one is still waited for."""
        self._unfit &= set(catalog.generations)
        caught_up = {
            number
            for number, generation in self._loaded.items()
            if number in catalog.generations and generation.has_reached(catalog.generations[number].read_to)
        }
        settled = self._application.is_settled
        held = self._loaded.keys() | self._unfit
        for step in plan(catalog, held, caught_up, self._shown, settled):
            match step:
                case Load(generation):
                    self._load(catalog, generation.number)
                case Show(number):
                    self._show(number)
                case Release(number):
                    self._release(number)
        wanted = catalog.live is not None and catalog.live != self._shown and catalog.live not in self._unfit
        return wanted or not settled

    def _load(self, catalog: Catalog, number: int) -> None:
        generation = catalog.generations[number]
        if schema.data_tables(generation.spec) != self._application.definition:
            self._unfit.add(number)
            log.error(
                "generation %d has other columns than the tables that are open; restart the tables server to show it",
                number,
            )
            return
        self._since[number] = time.monotonic()
        self._loaded[number] = self._application.load(generation)
        log.info("generation %d is being read", number)

    def _show(self, number: int) -> None:
        self._application.show(self._loaded[number])
        self._shown = number
        waited = time.monotonic() - self._since.pop(number, time.monotonic())
        log.info("generation %d is shown (%.1f s after it was first read)", number, waited)

    def _release(self, number: int) -> None:
        self._unfit.discard(number)
        generation = self._loaded.pop(number, None)
        if generation is not None:
            generation.release()
            self._refused_of_released += generation.refused
            log.info("generation %d is let go of", number)

    def _refused(self) -> int:
        loaded = sum(generation.refused for generation in self._loaded.values())
        return self._application.refused + self._refused_of_released + loaded

    def _problem(self) -> str:
        if self._unfit:
            numbers = ", ".join(str(number) for number in sorted(self._unfit))
            return f"generation {numbers} has other columns: restart this tables server to show it"
        return self._feed.problem or self._explained(next((g.problem for g in self._loaded.values() if g.problem), ""))

    def _explained(self, complaint: str) -> str:
        """Found out once, and said to the log as well: a broker that does not let us in takes no word of ours."""
        if complaint != self._complaint:
            self._complaint = self._explanation = complaint
            if not complaint:
                log.info("topics are read again")
                return ""
            error = of_java("topics cannot be read", complaint, [self._application.settings.own_cluster])
            if error is not None:
                self._explanation = f"{error}; next: {error.next_step}"
            log.warning("%s; trying again", self._explanation)
        return self._explanation
