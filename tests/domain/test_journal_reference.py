"""docs/reference/topics.md names every code of the journal, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from pointsman.domain.journal import Code

TEXT = (Path(__file__).parents[2] / "docs/reference/topics.md").read_text()


def test_every_code_is_documented_and_no_other() -> None:
    section = TEXT.split("## Journal", 1)[1].split("\n## ", 1)[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([^`]+)`", "".join(first_cells))) == set(Code)
