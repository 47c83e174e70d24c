"""One settings block in each client's words: tables of what goes in and what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pointsman.broker import security
from pointsman.broker.security import Role
from pointsman.pipeline.session import REDACTED
from pointsman.settings import Connection, Kafka, Settings, load

LOGIN = "org.apache.kafka.common.security"
SERVERS = {"bootstrap.servers": "b:1"}


@pytest.fixture
def pem(tmp_path: Path) -> str:
    path = tmp_path / "file.pem"
    path.write_text("-----BEGIN X-----\n")
    return str(path)


def connection(**more: Any) -> Connection:
    return Connection.model_validate({"bootstrap_servers": "b:1", **more})


def sasl(mechanism: str, password: str = "pw", **more: Any) -> Connection:
    login = {"mechanism": mechanism, "user": "me", "password": password}
    return connection(security_protocol="SASL_SSL", sasl=login, **more)


def oidc(**more: Any) -> Connection:
    endpoint = {"token_endpoint": "https://idp/token", "client_id": "me", "client_secret": "cs", "scope": "a b"}
    extensions = {"extensions": {"logicalCluster": "lkc", "identityPoolId": "pool"}}
    kind = {"mechanism": "OAUTHBEARER"}
    return connection(security_protocol="SASL_SSL", sasl=kind, oidc=endpoint | extensions | more)


PLAINTEXT = SERVERS | {"security.protocol": "PLAINTEXT"}
SASL_SSL = SERVERS | {"security.protocol": "SASL_SSL"}


class TestLibrdkafka:
    def test_without_security(self) -> None:
        assert security.librdkafka(connection()) == PLAINTEXT

    @pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
    def test_passwords(self, mechanism: str) -> None:
        login = {"sasl.mechanism": mechanism, "sasl.username": "me", "sasl.password": "pw"}
        assert security.librdkafka(sasl(mechanism)) == SASL_SSL | login

    def test_oidc(self, pem: str) -> None:
        assert security.librdkafka(oidc(ca_file=pem)) == SASL_SSL | {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "cs",
            "sasl.oauthbearer.scope": "a b",
            "sasl.oauthbearer.extensions": "logicalCluster=lkc,identityPoolId=pool",
            "https.ca.location": pem,
        }

    def test_certificates(self, pem: str) -> None:
        files = {"ca_file": pem, "cert_file": pem, "key_file": pem, "key_password": "kp"}
        assert security.librdkafka(connection(security_protocol="SSL", ssl=files)) == SERVERS | {
            "security.protocol": "SSL",
            "ssl.ca.location": pem,
            "ssl.certificate.location": pem,
            "ssl.key.location": pem,
            "ssl.key.password": "kp",
        }

    def test_only_properties_that_it_knows_are_passed_on(self) -> None:
        given = connection(properties={"client.rack": "a", "sasl.login.read.timeout.ms": "1"})
        assert security.librdkafka(given, {"client.rack"}.__contains__) == PLAINTEXT | {"client.rack": "a"}


class TestJava:
    def test_without_security(self) -> None:
        found = security.java(connection())
        assert (found.plain, found.secret) == (PLAINTEXT, {})

    @pytest.mark.parametrize(
        ("mechanism", "module"),
        [
            ("PLAIN", "plain.PlainLoginModule"),
            ("SCRAM-SHA-256", "scram.ScramLoginModule"),
            ("SCRAM-SHA-512", "scram.ScramLoginModule"),
        ],
    )
    def test_passwords(self, mechanism: str, module: str) -> None:
        found = security.java(sasl(mechanism))
        assert found.plain == SASL_SSL | {"sasl.mechanism": mechanism}
        assert found.secret == {"sasl.jaas.config": f'{LOGIN}.{module} required username="me" password="pw";'}

    def test_what_would_end_a_password_in_jaas_is_escaped(self) -> None:
        found = security.java(sasl("PLAIN", 'a"b\\c;d\ne'))
        assert found.secret["sasl.jaas.config"].endswith('password="a\\"b\\\\c;d\\ne";')

    def test_oidc(self, pem: str) -> None:
        found = security.java(oidc(ca_file=pem))
        assert found.plain == SASL_SSL | {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "sasl.login.callback.handler.class": f"{LOGIN}.oauthbearer.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.jwt.validator.class": f"{LOGIN}.oauthbearer.ClientJwtValidator",
        }
        assert found.secret["sasl.jaas.config"] == (
            f'{LOGIN}.oauthbearer.OAuthBearerLoginModule required clientId="me" clientSecret="cs" scope="a b" '
            'extension_logicalCluster="lkc" extension_identityPoolId="pool" '
            f'ssl.truststore.type="PEM" ssl.truststore.location="{pem}";'
        )

    def test_certificates(self, pem: str) -> None:
        files = {"ca_file": pem, "cert_file": pem, "key_file": pem, "key_password": "kp"}
        found = security.java(connection(security_protocol="SSL", ssl=files))
        text = Path(pem).read_text()
        assert found.plain == SERVERS | {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": pem,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": text,
        }
        assert found.secret == {"ssl.keystore.key": text, "ssl.key.password": "kp"}

    def test_its_repr_has_no_secret(self) -> None:
        assert "pw" not in repr(security.java(sasl("PLAIN")))


@pytest.mark.parametrize(("given", "librdkafka", "java"), [("", "none", ""), ("none", "none", ""), ("https",) * 3])
def test_an_unchecked_host_name_is_said_as_each_client_says_it(given: str, librdkafka: str, java: str) -> None:
    name = "ssl.endpoint.identification.algorithm"
    one = connection(properties={name: given})
    assert security.librdkafka(one)[name] == librdkafka
    assert security.java(one).plain[name] == java


class TestSpark:
    def test_options_without_security(self) -> None:
        assert security.spark_options(connection(), Role.OWN) == {f"kafka.{k}": v for k, v in PLAINTEXT.items()}

    def test_options_name_secrets_and_hold_none(self) -> None:
        options = security.spark_options(sasl("PLAIN", "hunter2"), Role.SOURCES)
        assert options["kafka.sasl.jaas.config"] == "${session:SOURCES_SASL_JAAS_CONFIG}"
        assert options["kafka.config.providers"] == "session"
        assert "hunter2" not in str(options)

    def test_every_secret_that_options_name_is_in_the_session_and_nothing_else(self) -> None:
        kafka = sasl("PLAIN", "one").model_dump()
        settings = settings_of(Kafka.model_validate({**kafka, "internal": {"sasl": {"password": "two"}}}))
        own = {**security.spark_options(settings.own_cluster, Role.OWN)}
        named = [*own.values(), *security.spark_options(settings.kafka, Role.SOURCES).values()]
        found = security.spark_secrets(settings)
        names = [name.removeprefix("spark.pointsman.secret.") for name in found]
        assert {v for v in named if v.startswith("${session:")} == {f"${{session:{name}}}" for name in names}
        assert ['"one"' in found[name] for name in sorted(found)] == [False, True]

    def test_spark_takes_them_for_secrets_by_their_names(self) -> None:
        names = security.spark_secrets(settings_of(Kafka.model_validate(sasl("PLAIN").model_dump())))
        assert names
        assert all(re.search(REDACTED, name) for name in names)


class TestSystemProperties:
    def test_there_are_none_without_tokens(self) -> None:
        assert security.java_system_properties(settings_of(Kafka())) == {}

    def test_every_address_that_tokens_come_from_is_allowed_once(self) -> None:
        other = {"oidc": {"token_endpoint": "https://other/token"}}
        kafka = Kafka.model_validate({**oidc().model_dump(), "internal": other, "control": {"group_prefix": "x"}})
        assert security.java_system_properties(settings_of(kafka)) == {
            "org.apache.kafka.sasl.oauthbearer.allowed.urls": "https://idp/token,https://other/token"
        }


def test_who_we_are_is_said_as_acls_say_it(pem: str) -> None:
    certificate = connection(security_protocol="SSL", ssl={"cert_file": pem, "key_file": pem})
    found = [security.principal(one) for one in (connection(), sasl("PLAIN"), oidc(), certificate)]
    assert found == ["User:ANONYMOUS", "User:me", "the subject of the tokens of client 'me'", f"the subject of {pem}"]


def settings_of(kafka: Kafka) -> Settings:
    return load(env={}).model_copy(update={"kafka": kafka})
