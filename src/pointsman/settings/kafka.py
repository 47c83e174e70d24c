"""How Kafka is reached: one block for every client, and what differs for the control topic and for our own topics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from pointsman.settings.properties import refused
from pointsman.settings.sections import Misfit, Secret, Section, Trimmed, flattened

SERVERS_RULE = re.compile(r"[^\s,:]+:\d{1,5}|\[[0-9a-fA-F:.]+\]:\d{1,5}")
PREFIX_RULE = re.compile(r"[a-zA-Z0-9._-]{1,100}")
URL_RULE = re.compile(r"[^\s\"'`\\,$]+")  # Java's options and its list of allowed addresses have no quotes for these
EXTENSION_RULE = re.compile(r"[A-Za-z]+")  # RFC 7628; `auth` is the mechanism's own
EXTENSION_VALUE_RULE = re.compile(r"[\x21-\x2b\x2d-\x7e \t]+")  # without a comma, which librdkafka takes for the next


class Protocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"  # nothing is encrypted, nobody is asked who they are
    SSL = "SSL"  # TLS; who we are is said by a certificate, if at all
    SASL_PLAINTEXT = "SASL_PLAINTEXT"  # passwords in the clear: for a network that is trusted
    SASL_SSL = "SASL_SSL"

    @property
    def has_sasl(self) -> bool:
        return self in (Protocol.SASL_PLAINTEXT, Protocol.SASL_SSL)

    @property
    def has_tls(self) -> bool:
        return self in (Protocol.SSL, Protocol.SASL_SSL)


class Mechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


def _upper(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


def _readable(value: str) -> str:
    """Looked at here, because librdkafka and Java would each say in their own way that a file is not there."""
    if not value:
        return value
    path = Path(value).expanduser().absolute()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if b"-----BEGIN " not in text:
        raise ValueError(f"{path} is not a PEM file: it has no line that starts with -----BEGIN")
    return str(path)


PemFile = Annotated[
    Trimmed, BeforeValidator(lambda value: _readable(value.strip()) if isinstance(value, str) else value)
]


class Sasl(Section):
    mechanism: Annotated[Mechanism, BeforeValidator(_upper)] = Field(
        Mechanism.PLAIN, description="with SASL_SSL and SASL_PLAINTEXT: how we say who we are"
    )
    user: Trimmed = Field("", description="PLAIN, SCRAM: user name, or API key")
    password: Secret = Field(SecretStr(""), description="PLAIN, SCRAM: password, or API secret")


class Oidc(Section):
    """OAUTHBEARER by OIDC's client credentials."""

    token_endpoint: Trimmed = Field("", description="OAUTHBEARER: URL that tokens are asked from")
    client_id: Trimmed = Field("", description="OAUTHBEARER: who asks")
    client_secret: Secret = Field(SecretStr(""), description="OAUTHBEARER: by what it proves that")
    scope: Trimmed = Field("", description="OAUTHBEARER: scope of the token")
    extensions: dict[str, str] = Field(
        default_factory=dict, description="OAUTHBEARER: name = value, such as logicalCluster and identityPoolId"
    )
    ca_file: PemFile = Field(
        "", description="PEM file of the authority behind the token endpoint; default: the system's"
    )

    @field_validator("token_endpoint")
    @classmethod
    def _url(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or not URL_RULE.fullmatch(value)):
            raise ValueError("must be a URL that starts with https:// (or http://), without blanks, quotes and commas")
        if parts.username or parts.password:
            raise ValueError("must hold no user and no password: client_id and client_secret are for that")
        return value

    @field_validator("extensions")
    @classmethod
    def _extensions(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not EXTENSION_RULE.fullmatch(name) or name == "auth":
                raise ValueError(f"the extension '{name}' must be letters only, and not 'auth'")
            if not EXTENSION_VALUE_RULE.fullmatch(text):
                raise ValueError(f"the value of '{name}' must be printable ASCII without a comma")
        return value


class Ssl(Section):
    ca_file: PemFile = Field("", description="PEM file of the authority behind the brokers; default: the system's")
    cert_file: PemFile = Field("", description="PEM file of our own certificate and what it is signed by")
    key_file: PemFile = Field("", description="PEM file (PKCS #8) of our certificate's private key")
    key_password: Secret = Field(SecretStr(""), description="password of key_file, if it has one")


class Connection(Section):
    """What a client needs to know to reach one cluster. Complete once it is valid."""

    bootstrap_servers: Trimmed = Field("localhost:9092", description="HOST:PORT[,HOST:PORT…] of the brokers")
    security_protocol: Annotated[Protocol, BeforeValidator(_upper)] = Field(
        Protocol.PLAINTEXT, description="whether connections are encrypted, and whether we say who we are"
    )
    group_prefix: str = Field("pointsman-", description="start of the name of every consumer group that we say we are")
    sasl: Sasl = Sasl()
    oidc: Oidc = Oidc()
    ssl: Ssl = Ssl()
    properties: dict[str, str] = Field(
        default_factory=dict, description="further properties of Kafka's clients, as Kafka spells them"
    )

    @field_validator("bootstrap_servers")
    @classmethod
    def _servers(cls, value: str) -> str:
        if not all(SERVERS_RULE.fullmatch(server.strip()) for server in value.split(",")):
            raise ValueError("must be HOST:PORT[,HOST:PORT…]")
        return value

    @field_validator("group_prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        if not PREFIX_RULE.fullmatch(value):
            raise ValueError("must be 1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-'")
        return value

    @field_validator("properties", mode="before")
    @classmethod
    def _properties(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        flat = dict(flattened(value))
        for name, text in flat.items():
            if why := refused(name, text):
                raise ValueError(why)
        return flat

    @model_validator(mode="after")
    def _complete(self) -> Connection:
        if self.security_protocol.has_sasl:
            kind = self.sasl.mechanism
            for key, value in self._credentials().items():
                if not value:
                    raise Misfit(key, f"is needed for {kind}")
        if self.ssl.cert_file and not self.ssl.key_file:
            raise Misfit("ssl.key_file", "is needed beside ssl.cert_file")
        if self.ssl.key_file and not self.ssl.cert_file:
            raise Misfit("ssl.cert_file", "is needed beside ssl.key_file")
        return self

    def _credentials(self) -> dict[str, str]:
        if self.sasl.mechanism is Mechanism.OAUTHBEARER:
            return {
                "oidc.token_endpoint": self.oidc.token_endpoint,
                "oidc.client_id": self.oidc.client_id,
                "oidc.client_secret": self.oidc.client_secret.get_secret_value(),
            }
        return {"sasl.user": self.sasl.user, "sasl.password": self.sasl.password.get_secret_value()}


class Kafka(Connection):
    """The cluster of the sources; and, if they are elsewhere, those of the control topic and of our own topics."""

    control: Connection | None = Field(None, description="where the control topic is")
    internal: Connection | None = Field(None, description="where our own topics are")

    @model_validator(mode="before")
    @classmethod
    def _laid_over(cls, values: Any) -> Any:
        """What `control` and `internal` leave out is as in `kafka` itself."""
        if not isinstance(values, Mapping):
            return values
        base = {name: value for name, value in values.items() if name in Connection.model_fields}
        others = {name: values.get(name) for name in ("control", "internal")}
        return {**values, **{name: _over(base, other) for name, other in others.items() if isinstance(other, Mapping)}}

    @model_validator(mode="after")
    def _uses_what_it_names(self) -> Kafka:
        """A forgotten protocol would go unencrypted to a port that waits for TLS, and end in a riddle."""
        for key, value in (("sasl.user", self.sasl.user), ("oidc.token_endpoint", self.oidc.token_endpoint)):
            if value and not self.security_protocol.has_sasl:
                raise Misfit("security_protocol", f"must be SASL_SSL (or SASL_PLAINTEXT) where {key} is set")
        if self.ssl.ca_file and not self.security_protocol.has_tls:
            raise Misfit("security_protocol", "must be SASL_SSL or SSL where ssl.ca_file is set")
        return self


def _over(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for name, value in other.items():
        below = found.get(name)
        found[name] = _over(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return found
