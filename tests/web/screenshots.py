"""Pictures of every state of the page, light and dark: `python -m tests.web.screenshots FOLDER` (`make pictures`)."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.domain.generation import Generation
from pointsman.domain.journal import Code, Entry, Level
from pointsman.settings import load
from tests.tables.stage import Pipeline, final, view
from tests.web.browser_stage import BrowserStage

CUSTOMERS = 2400
FIRST = (
    "Ada",
    "Bo",
    "Chidi",
    "Dana",
    "Emil",
    "Farah",
    "Grace",
    "Hugo",
    "Ines",
    "Jonas",
    "Kenji",
    "Lena",
    "Maya",
    "Noor",
)
LAST = ("Abbott", "Bauer", "Costa", "Dubois", "Eriksen", "Fischer", "Greco", "Hansen", "Ito", "Jensen", "Kaur", "Lopez")
KINDS = ("current", "savings", "mortgage", "card")
CHART_SECONDS = 14 * 60
JOURNAL = (
    (Code.BUILDING, "building generation 2: users from 'users', accounts from 'accounts', left join"),
    (Code.PROGRESS, "generation 2: 412,000 of 1,000,000 records, 9 s left"),
    (Code.READY, "generation 2 has caught up and runs in real time"),
    (Code.PUBLISHED, "generation 2 is live"),
    (Code.PUBLISHED, "generation 1 is live again"),
)


def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="pointsman-pictures-") as home,
        EmbeddedBroker(Path(home) / "broker", free_port()) as broker,
    ):
        settings = load(env={}, flags={"home": home, "kafka": {"bootstrap_servers": broker.address}})
        sources = [source.topic for source in settings.sources.values()]
        TopicAdmin(settings).ensure(TopicPlan(t, 2) for name in sources for t in (name, f"{name}.curated"))
        stage = BrowserStage(settings, Path(home), customers, CHART_SECONDS)
        stage.pipeline.publish(2)
        stage.pipeline.publish(1)
        for code, message in JOURNAL:
            stage.pipeline.tell(Entry(time.time(), Level.INFO, code, message))
        try:
            stage.run("screenshots.mjs", SHOTS=str(folder.absolute()))
        finally:
            stage.close()


def customers(pipeline: Pipeline, generation: Generation) -> None:
    """People of a bank, some without an account; the same ones every time."""
    chance = random.Random(7)
    people = [_customer(number, chance) for number in range(CUSTOMERS)]
    accounts = [_account(person, chance) for person in people]
    pipeline.write(generation.views["users"], (view("users", i, row) for i, row in enumerate(people)))
    pipeline.write(generation.views["accounts"], (view("accounts", i, row) for i, row in enumerate(accounts) if row))
    joined = (person | (account or {}) for person, account in zip(people, accounts, strict=True))
    pipeline.write(generation.final, (final(row["userId"], i, row) for i, row in enumerate(joined, start=1)))


def _customer(number: int, chance: random.Random) -> dict[str, Any]:
    first, last = chance.choice(FIRST), chance.choice(LAST)
    email = f"{first}.{last}{number}@example.org".lower()
    return {"userId": f"C-{10_000 + number}", "name": f"{first} {last}", "email": email, "age": chance.randint(18, 92)}


def _account(person: dict[str, Any], chance: random.Random) -> dict[str, Any] | None:
    balance = round(chance.lognormvariate(8, 1.4) * chance.choice((1, 1, 1, -0.2)), 2)
    account = {"userId": person["userId"], "accountType": chance.choice(KINDS), "balance": balance}
    return account if chance.random() < 0.9 else None


if __name__ == "__main__":
    take(Path(sys.argv[1]))
