"""What every answer carries and every request must satisfy: headers, host names, the operator's key."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NONCE_BYTES = 16
MOST_FAILURES = 20
FAILURE_SECONDS = 60.0
MOST_ADDRESSES = 1000  # whoever has more than that to try from is not held up by what we remember


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def content_policy(tables_url: str, nonce: str, frame_ancestors: str) -> str:
    """No inline script, no eval; scripts and data from here and from the tables server, and from nowhere else."""
    tables = origin(tables_url)
    socket = tables.replace("http", "ws", 1)
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' {tables}",
            f"connect-src 'self' {tables} {socket}",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "font-src 'self' data:",
            "base-uri 'self'",
            "form-action 'none'",
            "object-src 'none'",
            f"frame-ancestors {frame_ancestors}",
        ]
    )


def key_matches(header: str | None, key: str) -> bool:
    """Whether `Authorization: Bearer …` carries this key, in a time that tells nothing about it."""
    scheme, _, given = (header or "").partition(" ")
    same = hmac.compare_digest(given.strip().encode(), key.encode())
    return same and scheme.lower() == "bearer" and bool(key)


class Failures:
    """Wrong keys, by the address that they came from: one with too many in a minute is not heard until that is over.

    Its keys are not even compared, so the right one is of no use to it either. Other addresses are heard as ever.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[str, deque[float]] = {}

    def wait(self, address: str) -> float:
        """Seconds until this address is heard again; 0 if it is now."""
        failed = self._failed.get(address)
        if failed is None or len(failed) < MOST_FAILURES:
            return 0.0
        return max(0.0, failed[0] + FAILURE_SECONDS - self._clock())

    def add(self, address: str) -> None:
        failed = self._failed.pop(address, None) or deque(maxlen=MOST_FAILURES)
        failed.append(self._clock())
        self._failed[address] = failed
        if len(self._failed) > MOST_ADDRESSES:
            del self._failed[next(iter(self._failed))]


def new_nonce() -> str:
    return secrets.token_urlsafe(NONCE_BYTES)


class Guard:
    """Refuses unknown hosts (DNS rebinding) and posts from other origins; adds the headers that every answer needs."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if name not in self._hosts:
            answer = JSONResponse({"error": f"host '{name[:100]}' is not served here; see web.hosts"}, 421)
            await answer(scope, receive, guarded)
            return
        came_from = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and came_from and urlsplit(came_from).netloc != host:
            await JSONResponse({"error": "this came from another site"}, 403)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)
