"""The domain needs nothing: no Spark, no Deephaven, no Kafka, not even pydantic."""

from __future__ import annotations

import subprocess
import sys

FOREIGN = ("pyspark", "deephaven", "pydeephaven", "confluent_kafka", "pydantic", "starlette", "typer")

PROGRAM = f"""
import importlib, pkgutil, sys
for name in {FOREIGN!r}:
    sys.modules[name] = None  # an import of it raises
import pointsman.domain, pointsman.ports, pointsman.memory, pointsman.orchestrator
for module in pkgutil.iter_modules(pointsman.domain.__path__):
    importlib.import_module("pointsman.domain." + module.name)
"""


def test_domain_and_orchestrator_import_with_everything_else_uninstalled() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
