"""The demo left running, with a switch every so often: no error, and memory that stays where it is.

`python -m benchmarks.soak --minutes 10 --every 20` prints a line for every switch, and fails where one is not applied,
where a process had to be started again, or where memory has grown by more than a tenth between the second quarter and
the last.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

SWITCHES = (
    "--users-topic users_curated --accounts-topic accounts_curated",
    "--join inner",
    "--users-topic users --accounts-topic accounts",
    "--join left",
)
MOST_GROWTH = 1.1


def resident(process: int) -> int:
    """Bytes of a process and everything below it; what is shared counts once for each."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    total = 0
    for member in family:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def soak(folder: Path, minutes: float, every: float) -> list[int]:
    """Resident bytes after each switch."""
    said = folder / "said"
    with said.open("wb") as out:
        demo = subprocess.Popen([sys.executable, "-m", "pointsman", "demo"], cwd=folder, stdout=out, stderr=out)
    try:
        _await(said, "Ctrl-C here ends everything", demo)
        command = re.findall(r"^     (.*?) switch ", said.read_text(), re.MULTILINE)[0]
        sizes: list[int] = []
        end = time.monotonic() + minutes * 60
        for words in itertools.cycle(SWITCHES):
            begun = time.monotonic()
            if begun > end:
                return sizes
            done = subprocess.run(
                [*shlex.split(f"env {command} switch {words} --wait --json")],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            verdict = json.loads(done.stdout)
            sizes.append(resident(demo.pid))
            print(
                f"{verdict['verdict']:10} {verdict['durationMs'] / 1000:6.1f} s {sizes[-1] / 2**20:7.0f} MiB  {words}",
                flush=True,
            )
            assert verdict["verdict"] in ("applied", "unchanged"), verdict
            assert "died" not in said.read_text(), said.read_text()
            time.sleep(max(0.0, every - (time.monotonic() - begun)))
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(30)
    return sizes


def _await(said: Path, words: str, demo: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while words not in said.read_text():
        assert demo.poll() is None, said.read_text()
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.5)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--every", type=float, default=20)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="pointsman-soak-") as folder:
        sizes = soak(Path(folder), chosen.minutes, chosen.every)
    quarter = max(1, len(sizes) // 4)
    early, late = statistics.median(sizes[quarter : 2 * quarter] or sizes), statistics.median(sizes[-quarter:])
    print(f"{len(sizes)} switches; {early / 2**20:.0f} MiB in the second quarter, {late / 2**20:.0f} MiB in the last")
    if late > early * MOST_GROWTH:
        sys.exit("memory has grown")


if __name__ == "__main__":
    main()
