"""The demo left running, with a switch every so often: no error, and memory that stays where it is.

`python -m benchmarks.soak --minutes 10 --every 20` prints a line for every switch, and fails where one is not applied,
where a process had to be started again, or where memory has grown by more than a tenth between the second quarter and
the last. Memory is what stays resident, process by process, once Java has collected its garbage and given back what it
does not need: a Java machine takes the heap it may take, so that without a collection its size says nothing.
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

from pointsman.broker.java import java_command

SWITCHES = (
    "--users-topic users_curated --accounts-topic accounts_curated",
    "--join inner",
    "--users-topic users --accounts-topic accounts",
    "--join left",
)
MOST_GROWTH = 1.1
ROLES = ("broker", "pipeline", "tables", "web", "demo")


def resident(demo: int) -> dict[str, int]:
    """Bytes of each process that the demo has started, and of its own, after a full collection of those with a heap."""
    jcmd, found = str(Path(java_command()).with_name("jcmd")), dict[str, int]()
    for member in [psutil.Process(demo), *psutil.Process(demo).children(recursive=True)]:
        try:
            if "libjvm" in Path(f"/proc/{member.pid}/maps").read_text():
                subprocess.run([jcmd, str(member.pid), "GC.run"], capture_output=True, check=True, timeout=60)
            name = role(member.cmdline())
            found[name] = found.get(name, 0) + member.memory_info().rss
        except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            continue
    return found


def role(command: list[str]) -> str:
    """`pointsman tables` is "tables"; a Java machine is "broker" or, of the pipeline, "spark"."""
    if "java" in command[0]:
        return "spark" if any("pyspark" in word for word in command) else "broker"
    return next((name for name in ROLES if name in command), "others")


def soak(folder: Path, minutes: float, every: float) -> list[dict[str, int]]:
    """Resident bytes of each process after each switch."""
    said = folder / "said"
    with said.open("wb") as out:
        demo = subprocess.Popen([sys.executable, "-m", "pointsman", "demo"], cwd=folder, stdout=out, stderr=out)
    try:
        _await(said, "Ctrl-C here ends everything", demo)
        command = re.findall(r"^     (.*?) switch ", said.read_text(), re.MULTILINE)[0]
        sizes: list[dict[str, int]] = []
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
            took = verdict["durationMs"] / 1000
            print(f"{verdict['verdict']:10} {took:6.1f} s {words}: {shown(sizes[-1])}", flush=True)
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
    early, late = typical(sizes[quarter : 2 * quarter] or sizes), typical(sizes[-quarter:])
    print(f"{len(sizes)} switches; in the second quarter {shown(early)}; in the last {shown(late)}")
    if sum(late.values()) > sum(early.values()) * MOST_GROWTH:
        sys.exit("memory has grown")


def typical(sizes: list[dict[str, int]]) -> dict[str, int]:
    return {name: int(statistics.median(size.get(name, 0) for size in sizes)) for name in sizes[-1]}


def shown(size: dict[str, int]) -> str:
    each = ", ".join(f"{name} {bytes_ / 2**20:.0f}" for name, bytes_ in sorted(size.items()))
    return f"{sum(size.values()) / 2**20:.0f} MiB ({each})"


if __name__ == "__main__":
    main()
