"""`python -m supply_chain.audit SBOM`: known vulnerabilities of everything in a bill of materials.

Asks the service whose address the variable OSV_API holds, in OSV's protocol: the public one, or a company's mirror.
Says of each kind of component how many were asked about, what is known, and what could not be asked and why.
Exit code 1 if something is known, 2 if something could not be asked about and nothing is known of the rest.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BATCH = 500
SECONDS = 60
KINDS = {"pypi": "Python packages", "npm": "page libraries", "maven": "jars"}
NAMELESS = "generic"  # a jar that does not say whose it is: no service has a name for it
NO_ADDRESS = "OSV_API is not set: it names the service that is asked. Next: OSV_API=https://… make audit"


@dataclass(frozen=True)
class Answer:
    """Of one kind of components: what is known of each, and why the rest could not be asked about."""

    asked: int = 0
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)  # package → names of its vulnerabilities
    unasked: int = 0
    why: str = ""


def purls(bill: Path) -> dict[str, list[str]]:
    """By kind."""
    found: dict[str, list[str]] = {}
    for component in json.loads(bill.read_text())["components"]:
        purl = str(component["purl"])
        found.setdefault(purl.removeprefix("pkg:").partition("/")[0], []).append(purl)
    return found


def ask(service: str, wanted: Sequence[str]) -> Answer:
    """As far as the service answers: what it has told before it fails counts."""
    known: dict[str, Sequence[str]] = {}
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        try:
            told = list(_batch(service, part))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            return Answer(start, known, len(wanted) - start, _words(error))
        known |= {purl: names for purl, names in zip(part, told, strict=True) if names}
    return Answer(len(wanted), known)


def _batch(service: str, part: Sequence[str]) -> Iterator[list[str]]:
    """The names of each one's vulnerabilities; as many as were asked for, or ValueError."""
    body = json.dumps({"queries": [{"package": {"purl": purl}} for purl in part]}).encode()
    request = urllib.request.Request(
        f"{service.rstrip('/')}/v1/querybatch", body, {"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        results: list[dict[str, Any]] = json.load(answer)["results"]
    if len(results) != len(part):
        raise ValueError(f"{len(results)} answers to {len(part)} questions")
    for result in results:
        yield sorted(str(vulnerability["id"]) for vulnerability in result.get("vulns", ()))


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return f"it does not answer in OSV's protocol ({type(error).__name__}: {error})"


def report(service: str, bill: Path) -> int:
    """Prints, and returns the exit code."""
    wanted = purls(bill)
    answers = {kind: ask(service, wanted.get(kind, ())) for kind in KINDS}
    for answer in answers.values():
        for purl, names in answer.known.items():
            print(f"{purl}: {', '.join(names)}")
    print(f"asked of {service}:")
    for kind, answer in answers.items():
        print(f"  {KINDS[kind]}: {answer.asked} asked about, {len(answer.known)} with known vulnerabilities")
    nameless = [purl.removeprefix("pkg:generic/").replace("@", " ") for purl in wanted.get(NAMELESS, ())]
    if nameless:
        print(f"not asked about, because they do not say whose they are: {', '.join(nameless)}")
    for kind, answer in answers.items():
        if answer.unasked:
            print(f"could not be asked about: {answer.unasked} {KINDS[kind]}: {answer.why}", file=sys.stderr)
    if any(answer.known for answer in answers.values()):
        return 1
    return 2 if any(answer.unasked for answer in answers.values()) else 0


def main() -> int:
    bill, service = Path(sys.argv[1]), os.environ.get("OSV_API", "")
    if not service.startswith(("https://", "http://")):
        count = sum(map(len, purls(bill).values()))
        print(f"nothing was asked about {count} components. {NO_ADDRESS}", file=sys.stderr)
        return 2
    return report(service, bill)


if __name__ == "__main__":
    sys.exit(main())
