"""Everything that runs with Pointsman, as it is installed here: Python packages, the page's libraries, jars."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
JAR_NAME = re.compile(r"(?P<name>.+?)-(?P<version>\d+\.\d[\w.+-]*|\d\w*)\.jar")  # kafka-0-10_2.13-4.2.0 is 4.2.0
CLASSIFIER = "License :: OSI Approved :: "
UNKNOWN = "unknown"


@dataclass(frozen=True, order=True)
class Component:
    """`purl` names it for every tool that knows of packages; `within` is the package that brings a jar along."""

    purl: str
    name: str
    version: str
    licence: str = UNKNOWN
    within: str = ""


def everything(root: Path = ROOT) -> list[Component]:
    """Sorted, and each once."""
    packages = list(python_packages())
    found = [*packages, *page_libraries(root / "web" / "package-lock.json"), *jars(root / "build" / "jars", "")]
    for package in ("pyspark", "deephaven-server"):
        found += jars(Path(str(distribution(package).locate_file(package.replace("-", "_")))) / "jars", package)
    return sorted({component.purl: component for component in found}.values())


def python_packages(root: str = "pointsman") -> Iterator[Component]:
    """What the package needs to run, and what that needs in turn."""
    waiting, seen = [root], {root}
    while waiting:
        try:
            found = distribution(waiting.pop())
        except PackageNotFoundError:
            continue  # for another platform
        name, version = _normal(found.metadata["Name"]), found.version
        if name != root:
            yield Component(f"pkg:pypi/{name}@{version}", name, version, _licence(found))
        fresh = {_normal(needed) for needed in _needs(found.requires or ())} - seen
        seen |= fresh
        waiting += sorted(fresh)


def page_libraries(lock: Path) -> Iterator[Component]:
    """What is in the page that people load; what only builds it is left out."""
    for place, package in json.loads(lock.read_text())["packages"].items():
        if place and not package.get("dev"):
            name = place.rpartition("node_modules/")[2]
            purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
            yield Component(purl, name, package["version"], package.get("license", UNKNOWN))


def jars(folder: Path, within: str) -> Iterator[Component]:
    for path in sorted(folder.rglob("*.jar")):
        yield jar(path, within)


def jar(path: Path, within: str = "") -> Component:
    """Named by what Maven left in it, or else by its file name."""
    with zipfile.ZipFile(path) as archive:
        described = [n for n in archive.namelist() if re.fullmatch(r"META-INF/maven/.+/pom\.properties", n)]
        manifest = _read(archive, "META-INF/MANIFEST.MF")
        own = [properties for n in described if (properties := _properties(_read(archive, n)))]
    by_name = JAR_NAME.fullmatch(path.name)
    name = by_name["name"] if by_name else path.stem
    version = by_name["version"] if by_name else UNKNOWN
    mine = next((p for p in own if p.get("artifactId") == name), None)  # a jar may have others inside it
    vendor = re.search(r"^Implementation-Vendor-Id: *([\w.-]+)\s*$", manifest, re.MULTILINE)
    group = mine["groupId"] if mine else vendor[1] if vendor else ""
    stated = re.search(r"^Bundle-License: *(.+(?:\r?\n .+)*)", manifest, re.MULTILINE)
    licence = re.sub(r"\r?\n ", "", stated[1]).strip().strip('"') if stated else UNKNOWN
    version = mine["version"] if mine else version
    purl = f"pkg:maven/{group}/{name}@{version}" if group else f"pkg:generic/{name}@{version}"
    return Component(purl, name, version, licence, within)


def _needs(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if "extra ==" not in requirement and (found := REQUIREMENT.match(requirement)):
            yield found[1]


def _licence(found: Distribution) -> str:
    told = found.metadata
    osi = [c.removeprefix(CLASSIFIER) for c in told.get_all("Classifier") or () if c.startswith(CLASSIFIER)]
    whole = (told.get_all("License-Expression") or told.get_all("License") or [""])[0].strip()
    return whole if whole and "\n" not in whole else " or ".join(osi) or whole.partition("\n")[0] or UNKNOWN


def _read(archive: zipfile.ZipFile, name: str) -> str:
    try:
        return archive.read(name).decode(errors="replace")
    except KeyError:
        return ""


def _properties(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    found = {name.strip(): value.strip() for name, _, value in lines}
    return found if {"groupId", "artifactId", "version"} <= set(found) else {}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
