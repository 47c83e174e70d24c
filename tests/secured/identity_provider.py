"""A small OIDC provider: client credentials in, real signed tokens out, and the keys to check them by."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.secured.certificates import Signed, new_key, openssl

AUDIENCE = "kafka"


class IdentityProvider:
    """Serves `token_endpoint` (https) and `jwks` on loopback until `close`. What it does wrong, a test may choose."""

    def __init__(self, folder: Path, clients: dict[str, str], certificate: Signed) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._clients = clients  # id → secret
        self._published, self._other = folder / "published.key", folder / "other.key"
        for key in (self._published, self._other):
            new_key(key)
        modulus = openssl("rsa", "-in", self._published, "-noout", "-modulus").decode().strip().split("=")[1]
        published = {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB"}
        self._jwk = published | {"n": _b64(bytes.fromhex(modulus))}
        self.lifetime = 300.0
        self.forges = False  # signs with a key that it does not publish
        self.is_down = False
        self.clock_behind = 0.0  # seconds
        self.asked: list[dict[str, str]] = []  # the forms that token requests carried
        handler = self._handler()
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate.cert, certificate.key)
        tokens, keys = self._servers
        tokens.socket = tls.wrap_socket(tokens.socket, server_side=True)
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.issuer = "https://identity.test"
        self.token_endpoint = f"https://localhost:{tokens.server_address[1]}/token"
        self.jwks = f"http://127.0.0.1:{keys.server_address[1]}/jwks"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if provider.is_down:
                    return self._answer(503, {"error": "temporarily_unavailable"})
                return self._answer(200, {"keys": [provider._jwk]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                form = dict(urllib.parse.parse_qsl(body))
                if provider.is_down:
                    return self._answer(503, {"error": "temporarily_unavailable"})
                client = provider._client(self.headers.get("authorization", ""), form)
                if client is None:
                    return self._answer(401, {"error": "invalid_client"})
                provider.asked.append(form)
                token = provider.token(client, form.get("scope", ""))
                answer = {"access_token": token, "token_type": "Bearer", "expires_in": provider.lifetime}
                return self._answer(200, answer)

            def _answer(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def token(self, client: str, scope: str) -> str:
        now = int(time.time() - self.clock_behind)
        claims: dict[str, str | int] = {"iss": self.issuer, "sub": client, "aud": AUDIENCE, "scope": scope}
        claims |= {"iat": now, "nbf": now, "exp": int(now + self.lifetime)}
        parts = ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims)
        signed = ".".join(_b64(json.dumps(part).encode()) for part in parts)
        key = self._other if self.forges else self._published
        return f"{signed}.{_b64(openssl('dgst', '-sha256', '-sign', key, stdin=signed.encode()))}"

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> IdentityProvider:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _client(self, authorization: str, form: dict[str, str]) -> str | None:
        """Who asks, if the secret is right: in the header or in the form, as OAuth allows."""
        name, secret = form.get("client_id", ""), form.get("client_secret", "")
        if authorization.startswith("Basic "):
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            name, secret = urllib.parse.unquote(name), urllib.parse.unquote(secret)
        return name if self._clients.get(name) == secret and secret else None


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
