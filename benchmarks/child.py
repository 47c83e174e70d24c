"""A process under measurement: it speaks JSON lines, and its CPU and memory, with those of its children, are read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil


class ChildFailed(Exception):
    """The process under measurement ended, or did not do in time what it was asked."""


class Child:
    """Owns the process. Lines of its stdout that are events are kept in `events`; all else it prints is in `log`.

    The process ends when its input does, so also when we die.
    """

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        self.events: list[dict[str, Any]] = []
        self.peak_rss = 0
        self._changed = threading.Condition()
        self._errors = log.open("ab")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, **command: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ChildFailed(f"it has ended; see {self.log}") from error

    def wait_for(
        self, what: str, wanted: Callable[[dict[str, Any]], bool], seconds: float, since: int = 0
    ) -> dict[str, Any]:
        """The first event, from number `since` on, that is wanted."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for position in range(since, len(self.events)):
                    event = self.events[position]
                    if event.get("event") == "failed":
                        raise ChildFailed(f"{event.get('error')}; see {self.log}")
                    if wanted(event):
                        return event
                since = len(self.events)
                if self._process.poll() is not None and not self._reader.is_alive():
                    raise ChildFailed(f"it ended ({self._process.returncode}) before {what}; see {self.log}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ChildFailed(f"no {what} within {seconds:.0f} s; see {self.log}")
                self._changed.wait(min(left, 0.5))

    def await_open(self, seconds: float) -> None:
        """Every process under measurement says `open` when it can be used. One that does not is ended."""
        try:
            self.wait_for("start", lambda e: bool(e["event"] == "open"), seconds)
        except BaseException:
            self.close()
            raise

    def last(self, kind: str) -> dict[str, Any] | None:
        with self._changed:
            return next((event for event in reversed(self.events) if event["event"] == kind), None)

    def cpu_seconds(self) -> float:
        """Of the process and of what lives below it."""
        total = 0.0
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def rss(self) -> int:
        total = 0
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        self.peak_rss = max(self.peak_rss, total)
        return total

    def cores_used(self, seconds: float) -> float:
        """Mean number of cores over the next seconds."""
        before, began = self.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu_seconds() - before) / (time.monotonic() - began)

    @contextlib.contextmanager
    def held(self) -> Any:
        """Stops the whole tree, so that what is done meanwhile takes nothing from it and gives it nothing."""
        tree = self._tree()
        self._signal(tree, signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(tree, signal.SIGCONT)

    def close(self) -> None:
        """Asks it to end by closing its input; after a while, ends it."""
        tree = self._tree()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._reader.join(5)
        self._errors.close()

    def _tree(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self._process.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    @staticmethod
    def _signal(tree: list[psutil.Process], number: signal.Signals) -> None:
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = parse_event(line)
            if event is None:
                self._errors.write(line.encode())
                continue
            with self._changed:
                self.events.append(event)
                self._changed.notify_all()


def parse_event(line: str) -> dict[str, Any] | None:
    """An event is one JSON object with a field `event` on one line; libraries print other things to stdout too."""
    if not line.startswith('{"event"'):
        return None
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return event
