"""What is shown while things run, with a terminal and without one."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from rich.console import Console

from pointsman.cli.logbook import LogFormat, Options
from pointsman.cli.terminal import Mark, Terminal


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_without_a_terminal_there_are_plain_lines_and_nothing_moves() -> None:
    out = io.StringIO()
    with Terminal(Options(), Console(file=out, soft_wrap=True)) as terminal:
        terminal.busy("1 s  starting")
        terminal.line(Mark.DONE, "page: ready [after] 1 s")
        terminal.line(Mark.BAD, "tables: died")
        terminal.text("  a command " + "x" * 200, "bold")
    assert out.getvalue() == f"ok page: ready [after] 1 s\n!! tables: died\n  a command {'x' * 200}\n"


def test_in_a_terminal_lines_stay_and_the_moving_one_is_gone_at_the_end() -> None:
    out = io.StringIO()
    with Terminal(Options(), Console(file=out, force_terminal=True, soft_wrap=True, width=80)) as terminal:
        terminal.busy("1 s  starting")
        terminal.line(Mark.DONE, "page: ready [after] 1 s")
        assert terminal.moves
    shown = out.getvalue()
    assert "✓" in shown
    assert "page: ready [after] 1 s" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("starting"), "the cursor is not shown again"


def test_as_json_every_line_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal(Options(log_format=LogFormat.JSON)) as terminal:
        terminal.busy("1 s  starting")
        terminal.line(Mark.BAD, "tables: died")
    told = json.loads(capsys.readouterr().err)
    assert (told["level"], told["msg"]) == ("ERROR", "tables: died")
