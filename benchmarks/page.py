"""The page on a table of a million rows: `python -m benchmarks.page` (`make bench-page`).

A browser on a real tables server with its default settings; the pipeline's part is played. Rows change all the while.
`web/e2e/million.mjs` takes the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.tables.stage import KEY_OF_VIEWERS, account, final, user
from tests.web import browser, processes
from tests.web.browser_stage import PlayedPipeline
from tests.web.processes import Verb, WebProcess

from pointsman import settings as settings_module
from pointsman.broker import clients
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.domain.generation import Generation
from pointsman.settings import Settings

FOLDER = Path(__file__).parents[1] / "build" / "bench-page"


class Changes(threading.Thread):
    """Updates of random rows, so many per second, until `close`."""

    def __init__(self, settings: Settings, generation: Generation, rows: int, per_second: int) -> None:
        super().__init__()
        self._producer = clients.producer(settings.kafka)
        self._generation, self._rows, self._pause = generation, rows, 1 / per_second
        self._ended = threading.Event()

    def run(self) -> None:
        chance, version = random.Random(1), 1
        while not self._ended.wait(self._pause):
            version += 1
            number = chance.randrange(self._rows)
            row = user(number, 1) | account(number) | {"age": chance.randrange(100)}
            key, value = final(row["userId"], version, row)
            self._producer.produce(self._generation.final, value, key)
            self._producer.poll(0)

    def close(self) -> None:
        self._ended.set()
        self.join()
        self._producer.flush(10)


def measure(rows: int, per_second: int) -> list[dict[str, object]]:
    """The figures, in the order in which they were taken; each is printed as it comes."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    figures: list[dict[str, object]] = []

    def take(wish: browser.Wish) -> None:
        figure = {name: wish[name] for name in ("name", "value", "unit", "limit") if name in wish}
        figures.append(figure)
        limit = f"  (limit {figure['limit']:,})" if "limit" in figure else ""
        print(f"{figure['name']:<64}{figure['value']:>10,} {figure['unit']}{limit}", flush=True)

    with EmbeddedBroker(FOLDER / "broker", free_port(), heap="1g") as broker:
        settings = settings_module.load(
            env={}, flags={"home": str(FOLDER), "kafka": {"bootstrap_servers": broker.address}}
        )
        pipeline = PlayedPipeline(settings)
        generation = pipeline.build(1)
        pipeline.write(generation.final, _final_rows(rows))
        pipeline.publish(1)
        changes = Changes(settings, generation, rows, per_second)
        changes.start()
        env, port = processes.variables(settings, FOLDER), free_port()
        key = {"POINTSMAN_TABLES__PORT": str(port), "POINTSMAN_TABLES__KEY": KEY_OF_VIEWERS}
        tables = Verb(FOLDER, "tables", env={**env, **key})
        web = WebProcess(FOLDER, f"http://127.0.0.1:{port}", env)
        try:
            web.await_ready()
            tables.await_ready()
            variables = {"WEB_URL": web.url, "VIEWER_KEY": KEY_OF_VIEWERS, "ROWS": str(rows)}
            browser.run("million.mjs", FOLDER / "browser.log", variables, take)
        finally:
            changes.close()
            pipeline.close()
            web.kill()
            tables.kill()
    return figures


def _final_rows(count: int) -> Iterator[tuple[bytes, bytes]]:
    return (final(f"u{number}", 1, user(number, 1) | account(number)) for number in range(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=100, help="updates per second while figures are taken")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    figures = measure(given.rows, given.changes)
    saved = FOLDER.with_name("bench") / f"page-{time.strftime('%Y%m%d-%H%M%S')}.json"
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(json.dumps({"rows": given.rows, "load": load, "figures": figures}, indent=1))
    missed = [f["name"] for f in figures if "limit" in f and float(str(f["value"])) > float(str(f["limit"]))]
    print(f"limits missed: {', '.join(map(str, missed)) or 'none'}; saved as {saved.name}")


if __name__ == "__main__":
    main()
