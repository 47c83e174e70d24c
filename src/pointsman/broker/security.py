"""One settings block in the words of each client: librdkafka, Spark's Java client, the tables server's.

Pure: nothing is opened here. Spark's options hold the names of secrets only, and its Java client looks them up in the
session it runs in: what Spark keeps of its options (plans, event log, page, checkpoints) holds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pointsman.settings import Connection, Mechanism, Settings

LOGIN = "org.apache.kafka.common.security"
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"  # a system property of every JVM with a Kafka client
FROM_SESSION = "pointsman.SessionSecrets"  # a Java class of ours, in pipeline/java
SESSION_PREFIX = "spark.pointsman.secret."  # which Spark takes for a secret by its name
HOST_CHECK = "ssl.endpoint.identification.algorithm"


class Role(StrEnum):
    """Whose connection it is, for Spark, which reads from one cluster and writes to another."""

    SOURCES = "SOURCES"
    OWN = "OWN"


@dataclass(frozen=True)
class JavaProperties:
    """For a Java client; the secret ones apart, and out of every repr."""

    plain: dict[str, str]
    secret: dict[str, str] = field(default_factory=dict, repr=False)


def librdkafka(kafka: Connection, knows: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
    """`knows` tells whether librdkafka has a property: those that only Java's clients have are left out."""
    found = {"bootstrap.servers": kafka.bootstrap_servers, "security.protocol": kafka.security_protocol.value}
    if kafka.security_protocol.has_tls:
        found |= {
            "ssl.ca.location": kafka.ssl.ca_file,
            "ssl.certificate.location": kafka.ssl.cert_file,
            "ssl.key.location": kafka.ssl.key_file,
            "ssl.key.password": kafka.ssl.key_password.get_secret_value(),
        }
    if kafka.security_protocol.has_sasl:
        found |= {"sasl.mechanism": kafka.sasl.mechanism.value} | _librdkafka_login(kafka)
    more = {name: value for name, value in kafka.properties.items() if knows(name)}
    if more.get(HOST_CHECK) == "":  # how Java says it
        more[HOST_CHECK] = "none"
    return {name: value for name, value in found.items() if value} | more


def _librdkafka_login(kafka: Connection) -> dict[str, str]:
    if kafka.sasl.mechanism is not Mechanism.OAUTHBEARER:
        return {"sasl.username": kafka.sasl.user, "sasl.password": kafka.sasl.password.get_secret_value()}
    oidc = kafka.oidc
    return {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": oidc.token_endpoint,
        "sasl.oauthbearer.client.id": oidc.client_id,
        "sasl.oauthbearer.client.secret": oidc.client_secret.get_secret_value(),
        "sasl.oauthbearer.scope": oidc.scope,
        "sasl.oauthbearer.extensions": ",".join(f"{name}={value}" for name, value in oidc.extensions.items()),
        "https.ca.location": oidc.ca_file,
    }


def java(kafka: Connection) -> JavaProperties:
    """For Kafka's own client, of any version from 3.5 on."""
    plain = {"bootstrap.servers": kafka.bootstrap_servers, "security.protocol": kafka.security_protocol.value}
    secret: dict[str, str] = {}
    if kafka.security_protocol.has_tls:
        if kafka.ssl.ca_file:
            plain |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": kafka.ssl.ca_file}
        if kafka.ssl.cert_file:
            plain |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": _text(kafka.ssl.cert_file)}
            secret |= {"ssl.keystore.key": _text(kafka.ssl.key_file)}
            if kafka.ssl.key_password.get_secret_value():
                secret |= {"ssl.key.password": kafka.ssl.key_password.get_secret_value()}
    if kafka.security_protocol.has_sasl:
        plain["sasl.mechanism"] = kafka.sasl.mechanism.value
        if kafka.sasl.mechanism is Mechanism.OAUTHBEARER:
            plain |= {
                "sasl.oauthbearer.token.endpoint.url": kafka.oidc.token_endpoint,
                "sasl.login.callback.handler.class": f"{LOGIN}.oauthbearer.OAuthBearerLoginCallbackHandler",
                # From 4.1 on, the default is one for brokers, too, and needs a library that only they have.
                "sasl.oauthbearer.jwt.validator.class": f"{LOGIN}.oauthbearer.ClientJwtValidator",
            }
        secret["sasl.jaas.config"] = _jaas(kafka)
    more = dict(kafka.properties)
    if more.get(HOST_CHECK) == "none":  # how librdkafka says it
        more[HOST_CHECK] = ""
    return JavaProperties(plain | more, secret)


def _jaas(kafka: Connection) -> str:
    """The login in Java's own little language."""
    if kafka.sasl.mechanism is Mechanism.OAUTHBEARER:
        oidc = kafka.oidc
        options = {"clientId": oidc.client_id, "clientSecret": oidc.client_secret.get_secret_value()}
        if oidc.scope:
            options["scope"] = oidc.scope
        options |= {f"extension_{name}": value for name, value in oidc.extensions.items()}
        if oidc.ca_file:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": oidc.ca_file}
        module = f"{LOGIN}.oauthbearer.OAuthBearerLoginModule"
    else:
        options = {"username": kafka.sasl.user, "password": kafka.sasl.password.get_secret_value()}
        plain = kafka.sasl.mechanism is Mechanism.PLAIN
        module = f"{LOGIN}.plain.PlainLoginModule" if plain else f"{LOGIN}.scram.ScramLoginModule"
    said = " ".join(f"{name}={_quoted(value)}" for name, value in options.items())
    return f"{module} required {said};"


def _quoted(text: str) -> str:
    """A value of JAAS, which ends at a quote and knows C's escapes; everything else is meant as it is."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(letter, letter) for letter in text) + '"'


def spark_options(kafka: Connection, role: Role) -> dict[str, str]:
    """Options of Spark's Kafka source and sink. They hold no secret."""
    found = java(kafka)
    options = dict(found.plain)
    if found.secret:
        options |= {"config.providers": "session", "config.providers.session.class": FROM_SESSION}
        options |= {name: f"${{session:{_known_as(role, name)}}}" for name in found.secret}
    return {f"kafka.{name}": value for name, value in options.items()}


def spark_secrets(settings: Settings) -> dict[str, str]:
    """The secrets that `spark_options` names: for the session's configuration, and never for a command line."""
    roles = {Role.SOURCES: settings.kafka, Role.OWN: settings.own_cluster}
    return {
        f"{SESSION_PREFIX}{_known_as(role, name)}": value
        for role, kafka in roles.items()
        for name, value in java(kafka).secret.items()
    }


def java_system_properties(settings: Settings) -> dict[str, str]:
    """What a JVM with a Kafka client must be started with: the addresses that tokens may be asked from."""
    clusters: Iterable[Connection] = (settings.kafka, settings.own_cluster, settings.control_cluster)
    asks = [k.oidc.token_endpoint for k in clusters if k.security_protocol.has_sasl and k.oidc.token_endpoint]
    return {ALLOWED_URLS: ",".join(dict.fromkeys(asks))} if asks else {}


def principal(kafka: Connection) -> str:
    """Who we are to the broker, as far as we know: what ACLs are written for."""
    if kafka.security_protocol.has_sasl:
        if kafka.sasl.mechanism is Mechanism.OAUTHBEARER:
            return f"the subject of the tokens of client '{kafka.oidc.client_id}'"
        return f"User:{kafka.sasl.user}"
    if kafka.security_protocol.has_tls and kafka.ssl.cert_file:
        return f"the subject of {kafka.ssl.cert_file}"
    return "User:ANONYMOUS"


def _known_as(role: Role, name: str) -> str:
    return f"{role}_{name.replace('.', '_').upper()}"


def _text(path: str) -> str:
    return Path(path).read_text()
