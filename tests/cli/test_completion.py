"""Shells complete verbs and options, without loading anything heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

POINTSMAN = Path(sys.executable).with_name("pointsman")


@pytest.mark.parametrize(
    ("words", "offered"),
    [("pointsman sw", {"switch"}), ("pointsman config ", {"show"}), ("pointsman up --on", {"--only"})],
)
def test_bash_completes_verbs_and_options(words: str, offered: set[str]) -> None:
    env = {
        **os.environ,
        "_POINTSMAN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run([str(POINTSMAN)], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert set(done.stdout.split()) == offered
