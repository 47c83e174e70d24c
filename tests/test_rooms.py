"""The rooms of the house: each external library has one, and the domain needs none of them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pointsman

ROOT = Path(pointsman.__file__).parent
ROOM_OF = {
    "confluent_kafka": "broker",
    "deephaven": "tables",
    "deephaven_core": "tables",
    "deephaven_internal": "tables",
    "deephaven_server": "tables",
    "jpy": "tables",
    "prometheus_client": "web",
    "psutil": "fleet",
    "pydantic": "settings",
    "pydeephaven": "tables",
    "pyspark": "pipeline",
    "rich": "cli",
    "starlette": "web",
    "typer": "cli",
    "uvicorn": "web",
}
# The domain is told the time and does not wait, read or write.
IMPURE = {"asyncio", "io", "logging", "os", "pathlib", "random", "shutil", "socket", "subprocess", "threading", "time"}

MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imported(module: Path) -> Iterator[str]:
    """Full names of everything that a module imports, wherever in it that is."""
    for node in ast.walk(ast.parse((ROOT / module).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def foreign(module: Path) -> set[str]:
    tops = {name.split(".")[0] for name in imported(module)}
    return {top for top in tops if top != "pointsman" and top not in sys.stdlib_module_names}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_an_external_library_is_imported_in_its_own_room_only(module: Path) -> None:
    for library in foreign(module):
        assert library in ROOM_OF, f"{library} has no room yet: decide on one here, and ban it elsewhere"
        assert module.parts[0] == ROOM_OF[library], f"{library} belongs in pointsman.{ROOM_OF[library]}"


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] == "domain"], ids=str)
def test_the_domain_is_pure(module: Path) -> None:
    names = set(imported(module))
    assert not {name for name in names if name.startswith("pointsman.") and not name.startswith("pointsman.domain")}
    assert not {name.split(".")[0] for name in names} & IMPURE


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] == "orchestrator"], ids=str)
def test_the_orchestrator_knows_domain_and_ports_and_nothing_else(module: Path) -> None:
    allowed = ("pointsman.domain", "pointsman.ports", "pointsman.orchestrator")
    assert not {name for name in imported(module) if name.startswith("pointsman.") and not name.startswith(allowed)}


UNINSTALLED = """
import importlib, pkgutil, sys

class Uninstalled:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top != "pointsman" and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Uninstalled())
import pointsman.domain
for module in pkgutil.walk_packages(pointsman.domain.__path__, "pointsman.domain."):
    importlib.import_module(module.name)
    print(module.name)
"""


def test_every_module_of_the_domain_imports_with_nothing_else_installed() -> None:
    done = subprocess.run([sys.executable, "-c", UNINSTALLED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = {m.stem for m in MODULES if m.parts[0] == "domain"} - {"__init__"}
    assert set(done.stdout.split()) == {f"pointsman.domain.{name}" for name in files}


def test_help_loads_no_room() -> None:
    """Which is what lets it answer at once."""
    help_text = (
        "import sys; from pointsman.cli import app; app(['--help'], standalone_mode=False); "
        f"print(sorted({set(ROOM_OF) - {'typer'}!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", help_text], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
