"""The small API: what is true, what may be chosen, what would happen, and the one way to make it happen."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pointsman.domain.catalog import Catalog
from pointsman.domain.errors import PointsmanError
from pointsman.domain.status import Health
from pointsman.web.metrics import Metrics
from pointsman.web.mirror import Mirror
from pointsman.web.planning import Planner
from pointsman.web.security import Failures, key_matches
from pointsman.web.sending import Sender
from pointsman.web.tallies import Tallies

MOST_BYTES = 64 * 1024
FRESH_SECONDS = 10.0
MOST_VERDICTS = 100


class Api:
    def __init__(
        self,
        mirror: Mirror,
        tallies: Tallies,
        planner: Planner,
        sender: Sender,
        *,
        operator_key: str,
        wait_seconds: float,
    ) -> None:
        self._mirror, self._planner, self._sender = mirror, planner, sender
        self._key, self._wait = operator_key, wait_seconds
        self._failures = Failures()
        self._metrics = Metrics(mirror, tallies)

    def routes(self) -> list[Route]:
        return [
            Route("/api/status", self.status),
            Route("/api/history", self.history),
            Route("/api/generations", self.generations),
            Route("/api/topics", self.topics),
            Route("/api/verdicts", self.verdicts),
            Route("/api/plan", self.plan, methods=["POST"]),
            Route("/api/control", self.control, methods=["POST"]),
            Route("/livez", self.livez),
            Route("/readyz", self.readyz),
            Route("/metrics", self.metrics),
        ]

    def status(self, _request: Request) -> Response:
        """What is true now; `status` is null before anything was ever reported."""
        return JSONResponse({"status": self._mirror.status, "servers": self._mirror.servers})

    def history(self, _request: Request) -> Response:
        """Rate, lag and freshness of the last 15 minutes, oldest first; `at` in milliseconds."""
        fields = ("rate", "lag", "freshness")
        points = [{"at": round(s["at"] * 1000), **{f: s.get(f) for f in fields}} for s in self._mirror.history]
        return JSONResponse({"history": points})

    def generations(self, _request: Request) -> Response:
        catalog = self._mirror.catalog
        found = sorted(catalog.generations.items(), reverse=True) if catalog else []
        return JSONResponse({"live": catalog and catalog.live, "generations": [g.to_json() for _, g in found]})

    def topics(self, _request: Request) -> Response:
        return JSONResponse({"topics": self._planner.topics()})

    def verdicts(self, request: Request) -> Response:
        """Newest first; `?requestId=…` for one request's."""
        wanted = request.query_params.get("requestId")
        found = [v for v in self._mirror.verdicts if wanted is None or v.get("requestId") == wanted]
        return JSONResponse({"verdicts": found[:MOST_VERDICTS]})

    async def plan(self, request: Request) -> Response:
        """What a control message would do. Nothing is sent."""
        if refusal := self._refusal(request):
            return refusal
        message = await _message(request)
        if isinstance(message, Response):
            return message
        catalog = self._mirror.catalog or Catalog()
        return JSONResponse(await run_in_threadpool(self._planner.plan, json.dumps(message).encode(), catalog))

    async def control(self, request: Request) -> Response:
        """Sends a control message; the verdict if it comes in time, otherwise 202 and where to look for it."""
        if refusal := self._refusal(request):
            return refusal
        message = await _message(request)
        if isinstance(message, Response):
            return message
        request_id = await run_in_threadpool(self._sender.send, message)
        verdict = await run_in_threadpool(self._mirror.verdict_of, request_id, self._wait)
        if verdict is not None:
            return JSONResponse(dict(verdict))
        look = f"/api/verdicts?requestId={request_id}"
        return JSONResponse({"accepted": True, "requestId": request_id, "look": look}, 202)

    def livez(self, _request: Request) -> Response:
        return JSONResponse({"alive": True})

    def readyz(self, _request: Request) -> Response:
        """Whether a generation serves and is fresh. A build that failed beside it does not matter."""
        status = self._mirror.status
        problem = _not_ready(status, time.time())
        return JSONResponse({"ready": not problem, "reason": problem}, 503 if problem else 200)

    def metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    def _refusal(self, request: Request) -> Response | None:
        """None for whoever has the operator key."""
        address = request.client.host if request.client else ""
        wait = self._failures.wait(address)
        if wait:
            told = {"error": "too many wrong keys came from this address; try again later"}
            return JSONResponse(told, 429, headers={"Retry-After": str(math.ceil(wait))})
        if key_matches(request.headers.get("authorization"), self._key):
            return None
        if "authorization" in request.headers:  # a key that is missing guesses nothing
            self._failures.add(address)
        return _no_key()


def problem_answer(_request: Request, error: Exception) -> Response:
    """A known error, as its sentence and what to do next."""
    assert isinstance(error, PointsmanError)
    return JSONResponse({"error": str(error), "next": error.next_step}, 503)


def _not_ready(status: Mapping[str, Any] | None, now: float) -> str:
    if status is None:
        return "the pipeline has not reported yet"
    age = now - float(status["at"])
    if age > FRESH_SECONDS:
        return f"the pipeline's last heartbeat is {age:.0f} s old"
    state = status.get("state")
    if state not in (Health.SERVING.value, Health.SWITCHING.value):
        return f"the system is {state}"
    return ""


async def _message(request: Request) -> dict[str, Any] | Response:
    """The JSON object in the body, or the answer that says what is wrong with it."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return JSONResponse({"error": "the body must be application/json"}, 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return JSONResponse({"error": f"a control message has at most {MOST_BYTES} bytes"}, 413)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        return JSONResponse({"error": f"the body is not JSON: {str(error)[:100]}"}, 400)
    if not isinstance(found, dict):
        return JSONResponse({"error": "the body must be a JSON object"}, 400)
    return found


def _no_key() -> Response:
    return JSONResponse({"error": "the operator key is missing or wrong"}, 401, headers={"WWW-Authenticate": "Bearer"})
