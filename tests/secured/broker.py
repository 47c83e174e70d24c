"""A broker as a bank runs it: a listener per mechanism, TLS by a private authority, ACLs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from pointsman.broker import clients
from pointsman.broker.embedded import EmbeddedBroker, free_port
from pointsman.broker.security import ALLOWED_URLS
from pointsman.settings import Kafka, Settings, load
from tests.secured.certificates import Authority
from tests.secured.identity_provider import AUDIENCE, IdentityProvider

PASSWORDS = {  # with what ends a value in JAAS, in Java's files and in URLs; and a word to look for where none may be
    "plain": "'\"\\;=${env:HOME} ü{}#canaryPlain4f7a",
    "scram": "'\"\\;=${env:HOME} #canaryScram81c2",
    "scram256": "canaryScramSmall93d5",
    "oauth": "+/=&:canaryClient06be",
    "nobody": "canaryNobody77cc",  # whom no test lets write anything
    "leaver": "canaryLeaver30fe",  # whose password may be taken away: its sessions last a moment
}
MECHANISMS = {"plain": "PLAIN", "scram": "SCRAM-SHA-512", "scram256": "SCRAM-SHA-256", "oauth": "OAUTHBEARER"}
NOBODY, LEAVER = "nobody", "leaver"
LISTENERS = ("PLAIN", "SCRAM", "OAUTH", "MTLS", "EXPIRED", "TOMORROW")
SASL = {"PLAIN": "PLAIN", "SCRAM": "SCRAM-SHA-256,SCRAM-SHA-512", "OAUTH": "OAUTHBEARER"}
LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecuredBroker:
    """Addresses by listener, what its clients need to know, and an administrator that every ACL lets pass."""

    addresses: Mapping[str, str]
    authority: Authority
    provider: IdentityProvider
    superuser: Kafka
    folder: Path

    def admin(self) -> AdminClient:
        return clients.admin(self.superuser)

    def login(self, name: str) -> dict[str, Any]:
        """The `[kafka]` block of one of its users, secrets and all."""
        tls = {"security_protocol": "SASL_SSL", "ssl": {"ca_file": str(self.authority.ca)}}
        if name == "oauth":
            oidc = {
                "token_endpoint": self.provider.token_endpoint,
                "client_id": name,
                "client_secret": PASSWORDS[name],
                "scope": "kafka",
                "extensions": {"logicalCluster": "lkc-1", "identityPoolId": "pool-1"},
                "ca_file": str(self.authority.ca),
            }
            servers = self.addresses["OAUTH"]
            return {**tls, "bootstrap_servers": servers, "sasl": {"mechanism": "OAUTHBEARER"}, "oidc": oidc}
        servers = self.addresses["PLAIN" if name == "plain" else "SCRAM"]
        kind = "SCRAM-SHA-256" if name == LEAVER else MECHANISMS.get(name, "SCRAM-SHA-512")
        sasl = {"mechanism": kind, "user": name, "password": PASSWORDS[name]}
        return {**tls, "bootstrap_servers": servers, "sasl": sasl}

    def revoke(self, user: str) -> None:
        """Takes the password of one of its SCRAM-SHA-256 users away; `give_back` gives it back."""
        self._alter(UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256))

    def give_back(self, user: str) -> None:
        kind = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        self._alter(UserScramCredentialUpsertion(user, kind, PASSWORDS[user].encode()))

    def _alter(self, change: UserScramCredentialAlteration) -> None:
        admin = self.admin()  # kept until it has been answered
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result(20)

    def allow(self, principal: str, kind: str, name: str, *operations: str, prefixed: bool = False) -> None:
        pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
        rules = [
            AclBinding(
                ResourceType[kind], name, pattern, f"User:{principal}", "*", AclOperation[op], AclPermissionType.ALLOW
            )
            for op in operations
        ]
        admin = self.admin()  # kept until it has been answered
        for future in admin.create_acls(rules).values():
            future.result(20)


@contextmanager
def secured_broker(folder: Path) -> Iterator[SecuredBroker]:
    authority = Authority(folder / "certificates")
    good, expired = authority.sign("broker"), authority.sign_expired("expired")
    coming = authority.sign_for_tomorrow("tomorrow")
    addresses = {name: f"localhost:{free_port()}" for name in LISTENERS}
    superuser = free_port()
    clients_of = {"oauth": PASSWORDS["oauth"]}
    with IdentityProvider(folder / "identity", clients_of, authority.sign("identity")) as provider:
        properties = {
            "listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
            "advertised.listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
            "listener.security.protocol.map": ",".join(
                f"{name}:{'SASL_SSL' if name in SASL else 'SSL'}" for name in LISTENERS
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(good.both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.ca),
            "listener.name.expired.ssl.keystore.type": "PEM",
            "listener.name.expired.ssl.keystore.location": str(expired.both),
            "listener.name.tomorrow.ssl.keystore.type": "PEM",
            "listener.name.tomorrow.ssl.keystore.location": str(coming.both),
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.plain.plain.sasl.jaas.config": (
                f'{LOGIN}.plain.PlainLoginModule required user_plain="{_quoted(PASSWORDS["plain"])}";'
            ),
            "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{LOGIN}.scram.ScramLoginModule required;",
            "listener.name.scram.scram-sha-256.sasl.jaas.config": f"{LOGIN}.scram.ScramLoginModule required;",
            "listener.name.oauth.oauthbearer.sasl.jaas.config": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
            "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": (
                f"{LOGIN}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            "listener.name.scram.scram-sha-256.connections.max.reauth.ms": "3000",
            # A session ends with its token, to the second, as those of a bank's broker do.
            "listener.name.oauth.oauthbearer.connections.max.reauth.ms": "3600000",
            "sasl.oauthbearer.clock.skew.seconds": "0",
            "sasl.oauthbearer.jwks.endpoint.url": provider.jwks,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": provider.issuer,
        } | {f"listener.name.{name.lower()}.sasl.enabled.mechanisms": kinds for name, kinds in SASL.items()}
        system = {ALLOWED_URLS: provider.jwks}
        with EmbeddedBroker(folder / "data", superuser, properties=properties, system=system) as running:
            broker = SecuredBroker(addresses, authority, provider, Kafka(bootstrap_servers=running.address), folder)
            _add_scram_users(broker.admin())
            yield broker


def _add_scram_users(admin: AdminClient) -> None:
    kinds = {"scram": ScramMechanism.SCRAM_SHA_512, "scram256": ScramMechanism.SCRAM_SHA_256}
    kinds |= {NOBODY: ScramMechanism.SCRAM_SHA_512, LEAVER: ScramMechanism.SCRAM_SHA_256}
    users = [
        UserScramCredentialUpsertion(name, ScramCredentialInfo(kind, 4096), PASSWORDS[name].encode())
        for name, kind in kinds.items()
    ]
    for future in admin.alter_user_scram_credentials(users).values():
        future.result(20)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def settings_for(kafka: dict[str, Any], unique: Callable[[str], str]) -> Settings:
    """Settings with topics of the test's own."""
    sources = {name: {"topic": unique(name)} for name in ("users", "accounts")}
    names = {"topics": {"prefix": unique("pm.")}, "control": {"topic": unique("control")}, "sources": sources}
    return load(env={}, flags={"kafka": kafka, **names})
