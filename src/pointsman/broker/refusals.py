"""Why a broker turned us away, as a sentence: which check failed, for whom and on what, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from confluent_kafka import KafkaError

from pointsman.broker import identity
from pointsman.broker.identity import NoToken
from pointsman.broker.security import principal
from pointsman.broker.tls import SPOKEN
from pointsman.domain.errors import BrokerError, NotAllowed
from pointsman.settings import Connection, Mechanism

DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}
LOGIN_CODES = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
LASTING = LOGIN_CODES | {KafkaError._SSL}
SILENCE = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}
# librdkafka's words for what has no code of its own.
NO_TOKEN = ("Failed to acquire SASL OAUTHBEARER token", "there is no token available")
EXPIRED_TOKEN = "unexpired token"
# A Java client's words, where being turned away is among what may have happened.
JAVA_LOGIN = re.compile(r"SaslAuthentication|IllegalSaslState|LoginException|OAuthBearer|Failed to (construct|create)")
ANSWERS = "check that the broker answers there (kafka.bootstrap_servers) and what it permits us"

NOT_TRUSTED = (
    "the broker's certificate is not signed by an authority that we trust",
    "set kafka.ssl.ca_file to the PEM file of the authority that signed it",
)
OURS_MISSING = (
    "the broker asks for a certificate of ours, or does not accept it",
    "set kafka.ssl.cert_file and kafka.ssl.key_file to one that the broker trusts",
)
# What TLS libraries say of a certificate → (what is wrong, what to do).
CERTIFICATES = {
    "expired": (
        "the broker's certificate has expired",
        "have it renewed by whoever runs the broker; if it has not, set this machine's clock",
    ),
    "not yet valid": ("the broker's certificate is not valid yet", "set this machine's clock"),
    "mismatch": (
        "the broker's certificate is for another host name",
        "use the name in the certificate in kafka.bootstrap_servers",
    ),
    "issuer certificate": NOT_TRUSTED,
    "self-signed": NOT_TRUSTED,
    "verify failed": NOT_TRUSTED,
    SPOKEN.lower(): (
        "TLS is spoken there, and kafka.security_protocol says that it is not",
        "set kafka.security_protocol to SASL_SSL, or SSL",
    ),
    "certificate required": OURS_MISSING,
    "bad certificate": OURS_MISSING,
}


def lasts(problem: KafkaError) -> bool:
    """Whether what a client says of its connections will be the same the next time.

    What a broker breaks off while it starts or stops will not.
    """
    return problem.code() in LASTING and "disconnected" not in problem.str().lower()


def refusal(
    what: str,
    error: KafkaError | None,
    kafka: Connection,
    *,
    operation: str = "",
    on: str = "",
    complaint: KafkaError | None = None,
    tls: str = "",
) -> BrokerError:
    """`what` failed with `error` (None: no answer in time). `operation` and `on` are in the words of ACLs.

    `complaint` is what the client said of its connections meanwhile, and `tls` what is wrong with TLS: both tell more
    than that nothing came. Where tokens are used, the identity provider is asked whether it is to blame.
    """
    servers = kafka.bootstrap_servers
    if error is not None and error.code() in DENIED:
        # A producer that may write to no topic at all is told so of the cluster, before it asks for this one.
        nowhere = error.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED and operation == "WRITE"
        return _denied(what, "topic" if nowhere else DENIED[error.code()], kafka, operation, on)
    if tls:
        return _tls_failed(what, tls, kafka)
    silent = error is None or complaint is not None or error.code() in SILENCE | LOGIN_CODES
    if silent and (wrong := identity.problem(kafka)):
        return no_token(what, wrong, kafka)
    for one in (error, complaint):
        if one is not None and one.code() in LOGIN_CODES:
            return _login_refused(what, one, kafka)
        if one is not None and one.code() == KafkaError._SSL:
            return _tls_failed(what, one.str(), kafka)
    return BrokerError(f"{what} on {servers}: {error.str() if error is not None else 'no answer in time'}", ANSWERS)


def of_java(what: str, words: str, clusters: Iterable[Connection]) -> BrokerError | None:
    """Why a Java client of one of these clusters died, if it was turned away; None if it was not.

    Its words name neither cluster nor provider, and may be no more than that a client could not be made.
    """
    if not JAVA_LOGIN.search(words):
        return None
    logins: list[str] = []
    for kafka in clusters:
        if wrong := identity.problem(kafka):
            return no_token(what, wrong, kafka)
        if kafka.security_protocol.has_sasl:
            logins.append(f"{_login(kafka)} on {kafka.bootstrap_servers}")
    if not logins or "SaslAuthentication" not in words:
        return None
    return BrokerError(
        f"{what}: not accepted: {', or '.join(dict.fromkeys(logins))}",
        "check whether that login still holds, and where its password or client secret comes from",
    )


def _login(kafka: Connection) -> str:
    if identity.is_asked(kafka):
        return f"the token of client '{kafka.oidc.client_id}'"
    return f"the password of '{kafka.sasl.user}' by {kafka.sasl.mechanism}"


def no_token(what: str, wrong: NoToken, kafka: Connection) -> BrokerError:
    """`what` failed, because the identity provider gives none."""
    oidc = kafka.oidc
    return BrokerError(
        f"{what}: {oidc.token_endpoint} gives client '{oidc.client_id}' no token ({wrong.says})",
        "have the identity provider looked at, and check kafka.oidc.token_endpoint; what runs goes on by itself then"
        if wrong.passes
        else "check kafka.oidc.token_endpoint, client_id, scope and ca_file, and where the client secret comes from",
    )


def _denied(what: str, kind: str, kafka: Connection, operation: str, on: str) -> BrokerError:
    thing = f"{kind} '{on}'" if on else f"the {kind}"
    who = principal(kafka)
    return NotAllowed(
        f"{what} on {kafka.bootstrap_servers}: {who} may not {operation or 'do that'} on {thing}",
        f"have {operation or 'it'} on {thing} allowed to {who} (docs/how-to/secured-kafka.md lists what is needed)",
    )


def _login_refused(what: str, error: KafkaError, kafka: Connection) -> BrokerError:
    servers, words, kind = kafka.bootstrap_servers, error.str(), kafka.sasl.mechanism
    if kind is not Mechanism.OAUTHBEARER:
        return BrokerError(
            f"{what}: {servers} does not accept the password of '{kafka.sasl.user}' by {kind} ({words})",
            "check kafka.sasl.user, kafka.sasl.mechanism, and where the password comes from",
        )
    if EXPIRED_TOKEN in words:
        return BrokerError(
            f"{what}: a new token from {kafka.oidc.token_endpoint} for client '{kafka.oidc.client_id}' "
            f"has expired by this machine's clock ({words})",
            "set this machine's clock, or have that of the identity provider set",
        )
    if any(sign in words for sign in NO_TOKEN):  # and it gives us one now
        return no_token(what, NoToken(words, True), kafka)
    return BrokerError(
        f"{what}: {servers} does not accept the token of client '{kafka.oidc.client_id}' ({words})",
        "wait a moment if the identity provider was down just now: clients ask it again every ten seconds; else check "
        "the token's audience, issuer and scope with whoever runs the broker, and this machine's clock",
    )


def _tls_failed(what: str, words: str, kafka: Connection) -> BrokerError:
    for sign, (wrong, next_step) in CERTIFICATES.items():
        if sign in words.lower():
            return BrokerError(f"{what}: {wrong} ({kafka.bootstrap_servers}: {words})", next_step)
    return BrokerError(
        f"{what}: no TLS with {kafka.bootstrap_servers}: {words}",
        "check kafka.security_protocol and the port: is TLS spoken there?",
    )
