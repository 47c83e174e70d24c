"""The pipeline process as `pointsman pipeline` runs it, orchestrator and all. Says `open` when it follows the control
topic; it ends with its input."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from benchmarks.spark_child import say
from pointsman.app import run_pipeline
from pointsman.settings import Settings


def main() -> None:
    settings = Settings.model_validate_json(Path(sys.argv[1]).read_text())
    asked = threading.Event()

    def end_with_input() -> None:
        sys.stdin.read()
        asked.set()

    threading.Thread(target=end_with_input, daemon=True).start()
    run_pipeline(settings, asked, lambda line: say("open") if line.startswith("ready") else None)


if __name__ == "__main__":
    main()
