from __future__ import annotations

import pytest

from pointsman.domain.progress import Phase, Progress


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(Phase.CATCHING_UP), "starting"),
        (
            Progress(Phase.CATCHING_UP, done=412_000, total=1_000_000, rate=65_333.0),
            "412,000 of 1,000,000 records, 9 s left",
        ),
        (Progress(Phase.CATCHING_UP, done=5, total=10), "5 of 10 records"),
        (Progress(Phase.CATCHING_UP, done=12, total=10, rate=3.0), "10 of 10 records"),
        (Progress(Phase.REAL_TIME), "going real-time"),
        (Progress(Phase.REAL_TIME, ready=True), "caught up"),
        (Progress(Phase.DOWN, error="executor lost"), "executor lost"),
    ],
)
def test_progress_reads_well(progress: Progress, text: str) -> None:
    assert progress.describe() == text
