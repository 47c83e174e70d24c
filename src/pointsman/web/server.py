"""The web server: one process, from a settings block to a clean end."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route

from pointsman.domain.errors import PointsmanError
from pointsman.listening import require_certificate, require_port
from pointsman.settings import Settings
from pointsman.web.api import Api, problem_answer
from pointsman.web.mirror import Mirror
from pointsman.web.page import FOLDER, Page, PageFiles
from pointsman.web.planning import Planner
from pointsman.web.security import Guard
from pointsman.web.sending import Sender
from pointsman.web.tallies import Tallies

log = logging.getLogger(__name__)
KEY_BYTES = 24
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class WebServer:
    """`run()` serves until it is asked to end."""

    def __init__(self, settings: Settings) -> None:
        given = settings.web.operator_key.get_secret_value()
        self.settings = settings
        self.key = given or secrets.token_urlsafe(KEY_BYTES)
        self.key_was_generated = not given
        self.url = f"{settings.web.scheme}://{settings.web.host}:{settings.web.port}"
        self.tables_url = settings.web.tables_url or f"{settings.tables.scheme}://127.0.0.1:{settings.tables.port}"

    def app(self) -> Starlette:
        web = self.settings.web
        mirror, tallies, sender = Mirror(self.settings), Tallies(self.settings), Sender(self.settings)
        planner, wait = Planner(self.settings), web.control_wait_seconds
        api = Api(mirror, tallies, planner, sender, operator_key=self.key, wait_seconds=wait)
        page = Page(self.tables_url, web.embed_in)

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            mirror.start()
            tallies.start()
            yield
            mirror.stop()
            tallies.stop()
            sender.close()

        return Starlette(
            routes=[
                *api.routes(),
                Route("/", page.index),
                Route("/embed/{table}", page.embedded),
                Mount("/", PageFiles(directory=FOLDER, check_dir=False)),
            ],
            middleware=[Middleware(Guard, hosts=self._hosts()), Middleware(GZipMiddleware, minimum_size=1000)],
            exception_handlers={PointsmanError: problem_answer},
            lifespan=lifespan,
        )

    def run(self, on_ready: Callable[[], None]) -> None:
        """Serves until SIGINT or SIGTERM."""
        web = self.settings.web
        require_port(web.host, web.port, "POINTSMAN_WEB__PORT")
        require_certificate("web", web.tls_certificate, web.tls_key)
        config = uvicorn.Config(
            self.app(),
            host=web.host,
            port=web.port,
            ssl_certfile=web.tls_certificate or None,
            ssl_keyfile=web.tls_key or None,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        _Server(config, on_ready).run()

    def _hosts(self) -> set[str]:
        more = {name.strip() for name in self.settings.web.hosts.split(",") if name.strip()}
        return {*LOOPBACK, self.settings.web.host, *more}


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()
