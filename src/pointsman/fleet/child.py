"""One process of the fleet, from its start to its end.

It is asked to end, or killed; and the kernel (Linux) kills it when the thread that started it dies, even by kill -9.
What it starts itself goes with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pointsman.broker.embedded import dying_with_us

MOST_LOG_BYTES = 20_000_000  # a larger log is put aside at the next start, in place of the one before
READY = "ready"
HEAR_SECONDS = 1.0


@dataclass(frozen=True)
class Role:
    """What a process is for, how it is started, and which others must be ready before."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()


class Child:
    """A running process. It is ready when it has said so: a line on stdout that starts with `ready`."""

    def __init__(self, role: Role, logs: Path) -> None:
        self.role = role
        self.log = logs / f"{role.name}.log"
        self._said = ""
        self._log_start = self._open_log()
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                role.command,
                env={**os.environ, **role.env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,  # a Ctrl-C in the terminal is for us to answer; no session: see docs/decisions/0009
                preexec_fn=dying_with_us(),  # noqa: PLW1509 one prctl, no lock is taken
            )
        self._reader = threading.Thread(target=self._read, name=f"{role.name} says", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ready(self) -> str | None:
        """What it said when it was ready, without that word; None until then."""
        said = self._said
        return said.removeprefix(READY).lstrip(": ") if said else None

    def exit_code(self) -> int | None:
        """None while it runs. Once it has ended, what it left running has ended too, and all it said has been heard."""
        code = self._process.poll()
        if code is not None:
            self._end_group()
            self._reader.join(HEAR_SECONDS)
        return code

    def ask(self) -> None:
        """To end, politely."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def await_end(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))
        return self.exit_code() is not None

    def kill(self) -> None:
        self._end_group()
        self._process.wait()
        self._end_group()

    def last_words(self) -> str:
        """The error that this start has logged last and its next step, or else its last line."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        lines = [_plain(line) for line in lines]
        told = [at for at, line in enumerate(lines) if line.startswith("error: ")]
        if told:
            return "\n".join(lines[told[-1] :][:20])
        return lines[-1][-500:] if lines else "it said nothing"

    def _open_log(self) -> int:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > MOST_LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        return self.log.stat().st_size if self.log.exists() else 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, self.log.open("ab", buffering=0) as log:
            for line in lines:
                log.write(line)
                text = line.decode(errors="replace").strip()
                if text.startswith(READY) and not self._said:
                    self._said = text

    def _end_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _plain(line: str) -> str:
    """A line of a process that logs JSON, as it would be without."""
    try:
        told = json.loads(line)
        return f"error: {told['msg']}\nnext: {told.get('next', '')}" if told["level"] == "ERROR" else str(told["msg"])
    except (ValueError, TypeError, KeyError):
        return line
