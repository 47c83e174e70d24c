"""Ports on this machine that are not free: who holds one, and which to take instead."""

from __future__ import annotations

import psutil

from pointsman.domain.errors import EnvironmentProblem
from pointsman.listening import is_free

NEAR = 100  # how far above the wanted one another is looked for


def holder(port: int) -> str:
    """The program that listens on this port, as far as we may see; "another program" otherwise."""
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr.port == port and found.pid:
                return f"{psutil.Process(found.pid).name()} (process {found.pid})"
    except (psutil.Error, PermissionError):
        pass
    return "another program"


def next_free(host: str, port: int, taken: frozenset[int] = frozenset()) -> int:
    """The nearest free port above this one that is not among those already given away."""
    for candidate in range(port + 1, min(port + NEAR, 65535) + 1):
        if candidate not in taken and is_free(host, candidate):
            return candidate
    raise EnvironmentProblem(
        f"port {port} on {host} is taken by {holder(port)}, and so are the {NEAR} above it",
        "end what holds them, or set another port",
    )
