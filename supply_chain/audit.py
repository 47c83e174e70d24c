"""`python -m supply_chain.audit SBOM`: known vulnerabilities of everything in a bill of materials.

Asks the service whose address the variable OSV_API holds, in OSV's protocol: the public one, or a company's mirror.
Exit code 1 if something is known, 2 if nobody could be asked.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

BATCH = 500
SECONDS = 60
NO_ADDRESS = "OSV_API is not set: it names the service that is asked. Next: OSV_API=https://… make audit"


def purls(bill: Path) -> list[str]:
    """Those that such a service knows: a jar that does not say whose it is has no name there."""
    listed = json.loads(bill.read_text())["components"]
    return [c["purl"] for c in listed if not c["purl"].startswith("pkg:generic/")]


def unnamed(bill: Path) -> list[str]:
    """What cannot be asked about."""
    listed = json.loads(bill.read_text())["components"]
    return [f"{c['name']} {c['version']}" for c in listed if c["purl"].startswith("pkg:generic/")]


def known(service: str, wanted: Sequence[str]) -> dict[str, list[str]]:
    """Package → the names of its known vulnerabilities, for those that have any."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        for purl, result in zip(part, _ask(service, part), strict=True):
            if vulnerabilities := [str(v["id"]) for v in result.get("vulns", ())]:
                found[purl] = sorted(vulnerabilities)
    return found


def _ask(service: str, part: Sequence[str]) -> Iterator[Mapping[str, list[Mapping[str, object]]]]:
    body = json.dumps({"queries": [{"package": {"purl": purl}} for purl in part]}).encode()
    request = urllib.request.Request(
        f"{service.rstrip('/')}/v1/querybatch", body, {"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        yield from json.load(answer)["results"]


def main() -> int:
    bill, service = Path(sys.argv[1]), os.environ.get("OSV_API", "")
    if not service.startswith(("https://", "http://")):
        print(NO_ADDRESS, file=sys.stderr)
        return 2
    wanted = purls(bill)
    try:
        found = known(service, wanted)
    except (urllib.error.URLError, TimeoutError, ValueError, KeyError) as error:
        print(f"{service} could not be asked: {error}", file=sys.stderr)
        return 2
    for purl, vulnerabilities in found.items():
        print(f"{purl}: {', '.join(vulnerabilities)}")
    print(f"{len(wanted)} components asked about, {len(found)} with known vulnerabilities")
    if left := unnamed(bill):
        print(f"not asked about, because they do not say whose they are: {', '.join(left)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
