"""The built page: its index with the nonce and the tables server's address in it, and its files."""

from __future__ import annotations

import html
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pointsman.web.security import content_policy, new_nonce

FOLDER = Path(__file__).parent / "page"
NONCE_MARK = "__CSP_NONCE__"
TABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
NOT_BUILT = "The page is not built yet. Next: cd web, npm ci, npm run build.\n"


class Page:
    def __init__(self, tables_url: str, embed_in: str, folder: Path = FOLDER) -> None:
        self._tables_url = tables_url
        self._embed_in = f"'self' {embed_in}".strip()
        self._folder = folder

    def index(self, _request: Request) -> Response:
        return self._answer("'none'")

    def embedded(self, request: Request) -> Response:
        """One grid on its own, for a frame in another page."""
        if not TABLE_NAME.fullmatch(request.path_params["table"]):
            return PlainTextResponse("no such table\n", 404)
        return self._answer(self._embed_in)

    def _answer(self, frame_ancestors: str) -> Response:
        index = self._folder / "index.html"
        if not index.is_file():
            return PlainTextResponse(NOT_BUILT, 503)
        nonce = new_nonce()
        meta = f'<meta name="pointsman-tables" content="{html.escape(self._tables_url)}">'
        text = index.read_text().replace(NONCE_MARK, nonce).replace("</head>", f"{meta}</head>", 1)
        policy = content_policy(self._tables_url, nonce, frame_ancestors)
        return HTMLResponse(text, headers={"Content-Security-Policy": policy, "Cache-Control": "no-store"})


class PageFiles(StaticFiles):
    """Files whose names hold a hash never change, so browsers keep them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        hashed = re.search(r"-[A-Z0-9]{8}\.\w+$", path)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if hashed else "no-cache"
        return response
