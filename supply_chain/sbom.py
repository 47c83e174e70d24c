"""`python -m supply_chain.sbom FILE`: the bill of materials, in CycloneDX's JSON."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from supply_chain.components import UNKNOWN, Component, everything


def sbom(components: Sequence[Component]) -> dict[str, Any]:
    """The same components give the same bill, byte for byte: no date, and a serial number made from them."""
    listed = [_entry(component) for component in components]
    name = json.dumps(listed, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, name)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "pointsman",
                "version": version("pointsman"),
                "bom-ref": "pointsman",
            }
        },
        "components": listed,
    }


def _entry(component: Component) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    }
    if component.licence != UNKNOWN:
        found["licenses"] = [{"license": {"name": component.licence}}]
    if component.within:
        found["properties"] = [{"name": "pointsman:within", "value": component.within}]
    return found


def main() -> None:
    path, components = Path(sys.argv[1]), everything()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sbom(components), indent=1) + "\n")
    print(f"{path}: {len(components)} components")


if __name__ == "__main__":
    main()
