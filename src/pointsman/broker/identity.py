"""Whether the identity provider gives us tokens, asked of it directly: clients say no more than that they have none."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

from pointsman.settings import Connection, Mechanism

SECONDS = 5.0
MOST_WORDS = 200  # of what it answers, which is for people
BUSY = 429


@dataclass(frozen=True)
class NoToken:
    """Why there is none, and whether that is the provider's own trouble, which passes without us."""

    says: str
    passes: bool


def is_asked(kafka: Connection) -> bool:
    """Whether who we are is said by tokens there."""
    return kafka.security_protocol.has_sasl and kafka.sasl.mechanism is Mechanism.OAUTHBEARER


def problem(kafka: Connection) -> NoToken | None:
    """None if it gives us a token, or if none is needed. Never raises, and takes no longer than some seconds."""
    if not is_asked(kafka):
        return None
    try:
        with _opener(kafka).open(_request(kafka), timeout=SECONDS) as answer:
            given = json.load(answer)
    except HTTPError as error:
        with error:
            return NoToken(f"{error.code} {error.reason}"[:MOST_WORDS], error.code >= 500 or error.code == BUSY)
    except (OSError, HTTPException) as error:
        return _unanswered(error)
    except ValueError:
        given = None
    if isinstance(given, dict) and given.get("access_token"):
        return None
    return NoToken("its answer holds no token", True)


def _unanswered(error: Exception) -> NoToken:
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return NoToken(f"its certificate: {cause.verify_message}", False)
    said = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return NoToken(said[:MOST_WORDS], isinstance(cause, (ConnectionError, TimeoutError, HTTPException)))


def _request(kafka: Connection) -> urllib.request.Request:
    """As Kafka's own clients ask."""
    oidc = kafka.oidc
    login = f"{oidc.client_id}:{oidc.client_secret.get_secret_value()}".encode()
    form = {"grant_type": "client_credentials", **({"scope": oidc.scope} if oidc.scope else {})}
    return urllib.request.Request(
        oidc.token_endpoint,
        urlencode(form).encode(),
        {
            "Authorization": f"Basic {base64.b64encode(login).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )


def _opener(kafka: Connection) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context(cafile=kafka.oidc.ca_file or None)
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _Nowhere())


class _Nowhere(urllib.request.HTTPRedirectHandler):
    """Our secret is for the address in the settings, and for none that it may name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
