"""The bill of materials names what is really installed, and says whose it is."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from supply_chain.components import Component, everything, jar, page_libraries, python_packages
from supply_chain.sbom import sbom

LICENCES = Path(__file__).parents[2] / "docs" / "reference" / "licences.md"


@pytest.fixture(scope="module")
def components() -> list[Component]:
    return everything()


def test_what_every_room_runs_is_there(components: list[Component]) -> None:
    names = {component.name for component in components}
    assert {"pyspark", "deephaven-server", "confluent-kafka", "pydantic", "starlette", "py4j"} <= names
    assert {"@angular/core", "ag-grid-community"} <= names
    assert {"spark-sql-kafka-0-10_2.13", "kafka_2.13", "kafka-clients"} <= names
    assert not {"pytest", "ruff", "vite"} & names


def test_jars_inside_python_packages_are_there_and_say_so(components: list[Component]) -> None:
    within = {component.within for component in components}
    assert within == {"", "pyspark", "deephaven-server"}


def test_most_jars_are_known_by_their_group(components: list[Component]) -> None:
    """Some say nothing of whose they are. They cannot be looked up, and the audit says so."""
    jars = [c for c in components if c.purl.startswith(("pkg:maven/", "pkg:generic/"))]
    unnamed = [c for c in jars if c.purl.startswith("pkg:generic/")]
    assert len(jars) > 200
    assert len(unnamed) < len(jars) / 2, [c.name for c in unnamed]


def test_a_jar_with_others_inside_is_named_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "outer-1.2.3.jar"
    with zipfile.ZipFile(path, "w") as archive:
        for group, name in (("other.group", "inner"), ("my.group", "outer")):
            text = f"#made\ngroupId={group}\nartifactId={name}\nversion=1.2.3\n"
            archive.writestr(f"META-INF/maven/{group}/{name}/pom.properties", text)
        archive.writestr("META-INF/MANIFEST.MF", "A: b\r\nBundle-License: Apache-\r\n 2.0\r\nC: d\r\n")
    assert jar(path) == Component("pkg:maven/my.group/outer@1.2.3", "outer", "1.2.3", "Apache-2.0")


def test_what_only_builds_the_page_is_left_out(tmp_path: Path) -> None:
    lock = tmp_path / "package-lock.json"
    packages = {"": {}, "node_modules/@a/b": {"version": "1", "license": "MIT"}, "node_modules/c": {"dev": True}}
    lock.write_text(json.dumps({"packages": packages}))
    assert list(page_libraries(lock)) == [Component("pkg:npm/%40a/b@1", "@a/b", "1", "MIT")]


def test_the_bill_is_cyclonedx_and_the_same_every_time(components: list[Component]) -> None:
    bill = sbom(components)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    refs = [entry["bom-ref"] for entry in bill["components"]]
    assert len(set(refs)) == len(refs) == len(components)
    assert all(re.fullmatch(r"pkg:(pypi|npm|maven|generic)/[^@\s]+@[^@\s]+", ref) for ref in refs)
    assert sbom(components) == bill


def test_every_python_package_that_we_ask_for_and_every_page_library_has_its_licence_in_the_reference() -> None:
    page = LICENCES.read_text()
    listed = {(name, licence) for name, licence in re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", page, re.MULTILINE)}
    pyproject = (LICENCES.parents[2] / "pyproject.toml").read_text().partition("[project.scripts]")[0]
    asked = set(re.findall(r'^  "([a-z0-9-]+)[<>=]', pyproject, re.MULTILINE))
    lock = LICENCES.parents[2] / "web" / "package-lock.json"
    wanted = {(c.name, c.licence) for c in python_packages() if c.name in asked}
    wanted |= {(c.name, c.licence) for c in page_libraries(lock)}
    assert len(asked) > 10
    assert not wanted - listed, "to be added:\n" + "\n".join(f"| `{n}` | {x} |" for n, x in sorted(wanted - listed))
