"""What a process says while it works, on stderr: sentences for people, or with `--log-format json` an object a line."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import typer

TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class Options:
    """Of `pointsman` itself, before the verb."""

    debug: bool = False
    log_format: LogFormat = LogFormat.TEXT

    @property
    def words(self) -> tuple[str, ...]:
        """The same again, for a process that we start."""
        words = ("--debug",) if self.debug else ()
        return words if self.log_format is LogFormat.TEXT else (*words, "--log-format", self.log_format.value)


class _Json(logging.Formatter):
    """`ts`, `level`, `logger`, `msg`, and `next` where there is something to do."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if step := getattr(record, "next_step", ""):
            told["next"] = step
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def begin(options: Options) -> None:
    """From here on, what any part of this process logs is written to stderr in the chosen form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if options.log_format is LogFormat.JSON else logging.Formatter(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # tells of every connection that it closes


def say(options: Options, text: str) -> None:
    """A sentence for whoever started this process."""
    if options.log_format is LogFormat.JSON:
        logging.getLogger("pointsman").info(text)
    else:
        typer.echo(text, err=True)


def say_error(options: Options, text: str, next_step: str) -> None:
    if options.log_format is LogFormat.JSON:
        begin(options)
        logging.getLogger("pointsman").error(text, extra={"next_step": next_step})
        return
    typer.echo(f"error: {text}", err=True)
    if next_step:
        typer.echo(f"next: {next_step}", err=True)
