"""What a person sees while things run: lines that stay, and one that moves. Plain lines without a terminal.

All of it goes to stderr, as objects with `--log-format json`; data is for stdout.
"""

from __future__ import annotations

import logging
from enum import Enum
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from pointsman.cli import logbook
from pointsman.cli.logbook import LogFormat, Options


class Mark(Enum):
    """How a line begins, in a terminal and without one, and how grave it is in a log."""

    DONE = ("[green]✓[/]", "ok", logging.INFO)
    NEWS = ("[cyan]•[/]", "--", logging.INFO)
    WARN = ("[yellow]![/]", "!!", logging.WARNING)
    BAD = ("[red]✗[/]", "!!", logging.ERROR)


class Terminal:
    """`with Terminal() as terminal:` the moving line is gone when it ends."""

    def __init__(self, options: Options, console: Console | None = None) -> None:
        self._log = logging.getLogger("pointsman") if options.log_format is LogFormat.JSON else None
        if self._log is not None:
            logbook.begin(options)
        self._console = console or Console(stderr=True, soft_wrap=True)
        self._status: Status | None = None
        self._busy = ""

    @property
    def moves(self) -> bool:
        return self._console.is_terminal and self._log is None

    def line(self, mark: Mark, text: str) -> None:
        if self._log is not None:
            self._log.log(mark.value[2], text)
        elif self.moves:
            self._console.print(f"{mark.value[0]} {escape(text)}", highlight=False)
        else:
            self._console.print(f"{mark.value[1]} {text}", markup=False, highlight=False)

    def text(self, text: str, style: str = "") -> None:
        """As it is; the style only where there is a terminal."""
        if self._log is not None:
            self._log.info(text.strip())
            return
        self._console.print(text, style=style if self.moves else "", markup=False, highlight=False)

    def busy(self, text: str) -> None:
        """What goes on now; nothing where there is no terminal, and nothing any more for an empty text."""
        if text == self._busy:
            return
        self._busy = text
        if not self.moves or not text:
            self._end_status()
        elif self._status is None:
            self._status = self._console.status(escape(text), spinner="dots")
            self._status.start()
        else:
            self._status.update(escape(text))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
