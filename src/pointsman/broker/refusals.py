"""Why a broker turned us away, as a sentence: which check failed, for whom and on what, and what to do about it."""

from __future__ import annotations

from confluent_kafka import KafkaError

from pointsman.broker.security import principal
from pointsman.domain.errors import BrokerError
from pointsman.settings import Connection, Mechanism

DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}
LOGIN_CODES = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
# What a client says of its connections and what waiting does not mend. (It goes on trying all the same.)
LASTING = LOGIN_CODES | {KafkaError._SSL}
ANSWERS = "check that the broker answers there (kafka.bootstrap_servers) and what it permits us"

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
    "verify failed": (
        "the broker's certificate is not signed by an authority that we trust",
        "set kafka.ssl.ca_file to the PEM file of the authority that signed it",
    ),
    "certificate required": (
        "the broker asks for a certificate of ours",
        "set kafka.ssl.cert_file and kafka.ssl.key_file",
    ),
}


def refusal(
    what: str,
    error: KafkaError | None,
    kafka: Connection,
    *,
    operation: str = "",
    on: str = "",
    complaint: KafkaError | None = None,
) -> BrokerError:
    """`what` failed with `error` (None: no answer in time). `operation` and `on` are in the words of ACLs.

    `complaint` is what the client said of its connections meanwhile: it tells more than that nothing came.
    """
    servers = kafka.bootstrap_servers
    if error is not None and error.code() in DENIED:
        return _denied(what, DENIED[error.code()], kafka, operation, on)
    for one in (error, complaint):
        if one is not None and one.code() in LOGIN_CODES:
            return _login_refused(what, one, kafka)
        if one is not None and one.code() == KafkaError._SSL:
            return _tls_failed(what, one, kafka)
    why = error.str() if error is not None else "no answer in time"
    if kafka.security_protocol.has_tls or "security.protocol" not in why:
        return BrokerError(f"{what} on {servers}: {why}", ANSWERS)
    return BrokerError(f"{what} on {servers}: {why}", "set kafka.security_protocol to what the broker speaks there")


def _denied(what: str, kind: str, kafka: Connection, operation: str, on: str) -> BrokerError:
    thing = f"{kind} '{on}'" if on else f"the {kind}"
    who = principal(kafka)
    return BrokerError(
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
    if "token" in words.lower() and "broker" not in words.lower():
        return BrokerError(
            f"{what}: {kafka.oidc.token_endpoint} gives client '{kafka.oidc.client_id}' no token ({words})",
            "check kafka.oidc.token_endpoint, client_id and scope, and where the client secret comes from",
        )
    return BrokerError(
        f"{what}: {servers} does not accept the token of client '{kafka.oidc.client_id}' ({words})",
        "check the token's audience, issuer and scope with whoever runs the broker, and this machine's clock",
    )


def _tls_failed(what: str, error: KafkaError, kafka: Connection) -> BrokerError:
    words = error.str()
    for sign, (wrong, next_step) in CERTIFICATES.items():
        if sign in words.lower():
            return BrokerError(f"{what}: {wrong} ({kafka.bootstrap_servers}: {words})", next_step)
    return BrokerError(
        f"{what}: no TLS with {kafka.bootstrap_servers}: {words}",
        "check kafka.security_protocol and the port: is TLS spoken there?",
    )
