"""Pictures of every state of the page, light and dark: `python -m tests.web.screenshots FOLDER`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.settings import load
from tests.web.browser_stage import BrowserStage


def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="pointsman-pictures-") as home,
        EmbeddedBroker(Path(home) / "broker", free_port()) as broker,
    ):
        settings = load(env={}, flags={"home": home, "kafka": {"bootstrap_servers": broker.address}})
        TopicAdmin(settings).ensure(TopicPlan(source.topic, 2) for source in settings.sources.values())
        stage = BrowserStage(settings, Path(home))
        try:
            stage.run("screenshots.mjs", SHOTS=str(folder.absolute()))
        finally:
            stage.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
