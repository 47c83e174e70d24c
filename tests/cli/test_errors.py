"""What the command line says when something goes wrong: a sentence, what to do next, exit code 1."""

from __future__ import annotations

import sys

import pytest

from pointsman import cli
from pointsman.domain.errors import BrokerError


def run(monkeypatch: pytest.MonkeyPatch, error: Exception, *arguments: str) -> int | str | None:
    def failing() -> None:
        raise error

    monkeypatch.setattr(cli, "app", failing)
    monkeypatch.setattr(sys, "argv", ["pointsman", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def test_a_known_error_is_a_sentence_and_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, BrokerError("nobody answers", "start one")) == 1
    assert capsys.readouterr() == ("", "error: nobody answers\nnext: start one\n")


def test_an_unforeseen_error_shows_no_traceback_and_says_how_to_see_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, KeyError("x")) == 1
    assert capsys.readouterr().err == (
        "error: KeyError: 'x'\nnext: run `pointsman --debug …` to see where, and report it\n"
    )


def test_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokerError):
        run(monkeypatch, BrokerError("nobody answers"), "--debug", "broker")
