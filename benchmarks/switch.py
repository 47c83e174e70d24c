"""`make bench-switch`: how long a switch takes, and what the generation that it replaces shows meanwhile.

See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any

from rich.console import Console

from benchmarks.child import Child, ChildFailed
from benchmarks.contestants import START_SECONDS, NativeDeephaven
from benchmarks.feed import USUAL, Probes, pour, shuffled
from benchmarks.figures import latency, longest_silence
from benchmarks.ground import SOURCES, Ground, Plot
from benchmarks.pipeline import machine, take
from benchmarks.report import NATIVE, SPARK, Report, Verdict, at_most
from benchmarks.sight import Sightings
from benchmarks.sizes import FULL, QUICK, Sizes
from pointsman.broker import clients
from pointsman.broker.newest import newest_catalog
from pointsman.broker.tail import Tail

PART = "switch"
NATIVE_CYCLE_MS = 50
TO_PUBLISHED, TO_JOINED = "control message to published", "read and joined again"
QUIET = "nothing else coming"  # as native Deephaven has it
TELLING_MS = 100  # a silence this long is told of in the details
NORMAL_P99 = "old generation, normal p99"
LONGEST_SILENCE = "old generation, longest silence during the switch"


@dataclass
class SwitchReport(Report):
    """Judged by what a switch promises."""

    sizes: Sizes = FULL

    def verdicts(self) -> list[Verdict]:
        found = []
        for rows in self.sizes.switch_rows:
            native = self.find(PART, _name(NATIVE, rows), TO_JOINED)
            usual = self.find(PART, _name(SPARK, rows), NORMAL_P99)
            silence = self.find(PART, _name(SPARK, rows), LONGEST_SILENCE)
            if native is not None:
                limit = round(2 * native + 5, 1)
                fed = f"{self.sizes.rate:,} records/s beside it"
                for system, when in ((_quiet(rows), QUIET), (_name(SPARK, rows), fed)):
                    ours = self.find(PART, system, TO_PUBLISHED)
                    promise = f"switch of {rows:,} rows per topic, {when}: 2 × native + 5 s"
                    found.append(at_most(promise, limit, "s", ours))
            if usual is not None:
                limit = round(2 * usual)
                found.append(at_most(f"silence during it, {rows:,} rows: 2 × normal p99", limit, "ms", silence))
        return found


class Switchable:
    """The whole pipeline process, and the two things its users do with it: send a control message, read topics."""

    def __init__(self, ground: Ground, plot: Plot) -> None:
        path = plot.folder / "settings.json"
        path.write_text(plot.settings.model_dump_json())
        self._plot = plot
        self.child: Child = ground.child(plot, [sys.executable, "-m", "benchmarks.switch_child", str(path)])
        self.child.await_open(START_SECONDS)

    def await_live(self, seconds: float) -> str:
        """The final changelog of the first generation."""
        deadline = time.monotonic() + seconds
        while True:
            catalog = newest_catalog(self._plot.settings, self._plot.admin)
            live = catalog.live_generation if catalog else None
            if live is not None:
                return live.final
            if time.monotonic() > deadline:
                raise ChildFailed(f"nothing live within {seconds:.0f} s; see {self.child.log}")
            time.sleep(0.1)

    def switch(self, to: Plot, seconds: float) -> tuple[float, float, list[dict[str, Any]]]:
        """Points it at the other plot's topics: when it was asked, when that was seen to be live, and the journal."""
        settings, admin, names = self._plot.settings, self._plot.admin, self._plot.settings.names
        message = {f"{source}Topic": to.topic(source) for source in SOURCES}
        producer = clients.producer(settings.kafka, **{"linger.ms": 0})
        journal: list[dict[str, Any]] = []
        applied = 0.0
        with Tail(settings.kafka, admin.end_offsets([names.verdicts, names.journal])) as tail:
            asked = time.time()
            producer.produce(settings.control.topic, json.dumps(message).encode())
            producer.flush(30)
            while time.time() < asked + seconds:
                for topic, *_, value in tail.poll(0.01):
                    found = json.loads(value or b"{}")
                    if topic == names.journal:
                        journal.append(found)
                    elif found["verdict"] == "applied":
                        applied = time.time()
                    else:
                        raise ChildFailed(f"{found['verdict']}: {found['reason']}")
                if applied and any(entry["code"] == "generation.published" for entry in journal):
                    return asked, applied, journal
        raise ChildFailed(f"no verdict within {seconds:.0f} s; see {self.child.log}")

    def close(self) -> None:
        self.child.close()


class Feeding:
    """Inside `with`, probe records come at a steady rate."""

    def __init__(self, probes: Probes, rate: float) -> None:
        self._probes, self._rate = probes, rate
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)

    def _feed(self) -> None:
        while not self._over.is_set():
            self._probes.send(self._rate, 1.0)

    def __enter__(self) -> Feeding:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(30)


def measure(ground: Ground, sizes: Sizes, report: Report, rows: int) -> None:
    """Native Deephaven first, alone, then the pipeline, on the very same topics."""
    raw, curated, third = plots = [ground.plot(f"switch-{name}") for name in ("raw", "curated", "third")]
    keys = shuffled(rows, seed=1)
    fed = {plot.folder: pour(plot, keys) for plot in plots}
    native = NativeDeephaven(ground, raw, NATIVE_CYCLE_MS)
    try:
        native.drained(fed[raw.folder], sizes.patience)
        seconds = native.rejoin(curated.topic("users"), curated.topic("accounts"), fed[curated.folder], sizes.patience)
    finally:
        native.close()
    report.add(PART, _name(NATIVE, rows), {TO_JOINED: (seconds, "s")})
    pipeline = Switchable(ground, raw)
    try:
        _measure_pipeline(pipeline, raw, curated, third, rows, sizes, report)
    finally:
        pipeline.close()
    for plot in plots:
        plot.clear()


def _measure_pipeline(
    pipeline: Switchable, raw: Plot, curated: Plot, third: Plot, rows: int, sizes: Sizes, report: Report
) -> None:
    final = pipeline.await_live(sizes.patience)
    probes = Probes(raw, min(rows, sizes.probe_keys), USUAL)
    with Sightings(raw, final) as output:
        with Feeding(probes, sizes.rate):
            _await_span(output, sizes.switch_warm_up + sizes.switch_normal, sizes.patience)
            normal = output.moments[-1] - sizes.switch_normal, output.moments[-1]
            asked, published, journal = pipeline.switch(curated, sizes.patience)
        output.await_all(len(probes.sent), 10)
    quiet = pipeline.switch(third, sizes.patience)
    usual = latency({n: at for n, at in probes.sent.items() if normal[0] <= at < normal[1]}, output.seen)
    during = latency({n: at for n, at in probes.sent.items() if asked <= at < published}, output.seen)
    report.add(
        PART,
        _name(SPARK, rows),
        {
            **_durations(asked, published, journal),
            "old generation, normal p50": (usual.p50, "ms"),
            NORMAL_P99: (usual.p99, "ms"),
            "old generation, normal longest silence": (longest_silence(output.moments, *normal), "ms"),
            "old generation, p99 during the switch": (during.p99, "ms"),
            LONGEST_SILENCE: (longest_silence(output.moments, asked, published), "ms"),
        },
    )
    report.add(PART, _quiet(rows), _durations(*quiet))
    report.details[f"journal of the switch, {rows:,} rows"] = journal
    moments = [at for at in output.moments if asked <= at < published]
    report.details[f"silences of the switch, {rows:,} rows"] = [
        f"{ms:.0f} ms, {at:.1f} s after the message"
        for at, ms in ((before - asked, (after - before) * 1000) for before, after in pairwise(moments))
        if ms >= TELLING_MS
    ]


def _durations(asked: float, published: float, journal: list[dict[str, Any]]) -> dict[str, tuple[float, str]]:
    return {
        TO_PUBLISHED: (published - asked, "s"),
        "of it, to the start of the build": (_moment(journal, "generation.building", asked), "s"),
        "of it, to caught up and ready": (_moment(journal, "generation.ready", asked), "s"),
    }


def _name(system: str, rows: int) -> str:
    return f"{system}, {rows:,} rows"


def _quiet(rows: int) -> str:
    return f"{_name(SPARK, rows)}, {QUIET}"


def _moment(journal: list[dict[str, Any]], code: str, asked: float) -> float:
    """Seconds from the control message to this entry. The process under measurement has the same clock."""
    return next(float(entry["ts"]) - asked for entry in journal if entry["code"] == code)


def _await_span(output: Sightings, seconds: float, patience: float) -> None:
    """Until the output has been seen for this long."""
    deadline = time.monotonic() + patience
    while not output.moments or output.moments[-1] - output.moments[0] < seconds:
        if time.monotonic() > deadline:
            raise ChildFailed("the old generation shows nothing")
        time.sleep(0.05)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured, whether promises were kept or not; 1 when something could not be."""
    parser = argparse.ArgumentParser(prog="benchmarks/switch.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything small: to try the code, not for figures")
    args = parser.parse_args(argv)
    sizes = QUICK if args.quick else FULL
    report = SwitchReport(machine() | {"quick": args.quick}, sizes=sizes)
    todo = [(PART, f"{rows:,} rows per topic", partial(measure, rows=rows)) for rows in sizes.switch_rows]
    console = Console(width=None if sys.stdout.isatty() else 120)
    return take("switch", todo, sizes, report, console)


if __name__ == "__main__":
    sys.exit(main())
