"""How Kafka is reached: what is enough, what is missing, and which cluster a topic is on."""

from __future__ import annotations

import pytest

from pointsman.settings import Mechanism, Protocol, Settings
from tests.settings.conftest import Load, Refusal

PLAIN = '[kafka]\nsecurity_protocol = "sasl_ssl"\n[kafka.sasl]\nuser = "me"\n[kafka.ssl]\nca_file = "ca.pem"\n'
OIDC = """
[kafka]
security_protocol = "SASL_SSL"
[kafka.sasl]
mechanism = "OAUTHBEARER"
[kafka.oidc]
token_endpoint = "https://idp.bank/token"
client_id = "pointsman"
scope = "kafka"
extensions = { logicalCluster = "lkc-1", identityPoolId = "pool-2" }
"""


def test_without_anything_it_is_plain_and_nobody_asks_who_we_are(load: Load) -> None:
    kafka = load().kafka
    assert (kafka.security_protocol, kafka.properties, kafka.control, kafka.internal) == (
        Protocol.PLAINTEXT,
        {},
        None,
        None,
    )


def test_a_password_and_a_private_authority(load: Load) -> None:
    kafka = load(PLAIN, KAFKA__SASL__PASSWORD="x").kafka
    assert (kafka.security_protocol, kafka.sasl.mechanism, kafka.sasl.user) == (
        Protocol.SASL_SSL,
        Mechanism.PLAIN,
        "me",
    )
    assert kafka.ssl.ca_file.endswith("/ca.pem")


def test_oidc_with_extensions_also_from_variables(load: Load) -> None:
    kafka = load(OIDC, KAFKA__OIDC__CLIENT_SECRET="x", KAFKA__OIDC__EXTENSIONS__identityPoolId="pool-3").kafka
    assert kafka.sasl.mechanism is Mechanism.OAUTHBEARER
    assert kafka.oidc.extensions == {"logicalCluster": "lkc-1", "identityPoolId": "pool-3"}


class TestClusters:
    def test_all_topics_are_on_one_unless_it_is_said_otherwise(self, load: Load) -> None:
        here = load()
        assert here.own_cluster is here.control_cluster is here.kafka

    def test_what_an_override_leaves_out_is_as_in_kafka_itself(self, load: Load) -> None:
        here = load(
            PLAIN + '[kafka.internal]\nbootstrap_servers = "own:1"\n[kafka.internal.sasl]\nuser = "writer"\n',
            KAFKA__SASL__PASSWORD="x",
            KAFKA__INTERNAL__SASL__PASSWORD="y",
        )
        own, sources = here.own_cluster, here.kafka
        assert (own.bootstrap_servers, own.sasl.user, own.sasl.password.get_secret_value()) == ("own:1", "writer", "y")
        assert (own.security_protocol, own.ssl) == (sources.security_protocol, sources.ssl)
        assert sources.sasl.password.get_secret_value() == "x"

    def test_a_topic_s_cluster_follows_from_its_name(self, load: Load) -> None:
        here = load('[kafka.internal]\nbootstrap_servers = "own:1"\n[kafka.control]\nbootstrap_servers = "control:1"\n')
        where = {topic: here.cluster_of(topic).bootstrap_servers for topic in ("users", "pointsman.g1.users")}
        assert where == {"users": "localhost:9092", "pointsman.g1.users": "own:1"}
        assert here.cluster_of(here.control.topic).bootstrap_servers == "control:1"

    def test_the_control_topic_is_with_our_own_topics_unless_it_is_said_otherwise(self, load: Load) -> None:
        here = load('[kafka.internal]\nbootstrap_servers = "own:1"\n')
        assert here.cluster_of(here.control.topic).bootstrap_servers == "own:1"

    def test_settings_go_through_json_as_they_are(self, load: Load) -> None:
        here = load(
            '[kafka.internal]\nsecurity_protocol = "SSL"\n[kafka.internal.properties]\n"client.rack" = "a"\n'
            '[kafka.properties]\nsocket.keepalive.enable = true\n[kafka.internal.ssl]\nca_file = "ca.pem"\n'
        )
        assert here.own_cluster.properties == {"socket.keepalive.enable": "true", "client.rack": "a"}
        assert Settings.model_validate_json(here.model_dump_json()) == here


WRONG = [
    (PLAIN, {}, "kafka.sasl.password: is needed for PLAIN: set the variable POINTSMAN_KAFKA__SASL__PASSWORD, or"),
    (OIDC, {}, "kafka.oidc.client_secret: is needed for OAUTHBEARER: set the variable POINTSMAN_KAFKA__OIDC__CLIENT_"),
    ('[kafka]\nsecurity_protocol = "SASL_SSL"\n', {}, "kafka.sasl.user: is needed for PLAIN (from"),
    (
        '[kafka]\nsecurity_protocol = "SASL_SSL"\n[kafka.sasl]\nmechanism = "oauthbearer"\n',
        {},
        "kafka.oidc.token_endpoint: is needed for OAUTHBEARER",
    ),
    (
        "",
        {"KAFKA__SASL__USER": "me"},
        "kafka.security_protocol: must be SASL_SSL (or SASL_PLAINTEXT) where sasl.user is",
    ),
    (
        "",
        {"KAFKA__SSL__CA_FILE": "ca.pem"},
        "kafka.security_protocol: must be SASL_SSL or SSL where ssl.ca_file is set",
    ),
    ("", {"KAFKA__SECURITY_PROTOCOL": "TLS"}, "kafka.security_protocol: must be 'PLAINTEXT', 'SSL', 'SASL_PLAIN"),
    ("", {"KAFKA__SASL__MECHANISM": "GSSAPI"}, "kafka.sasl.mechanism: must be 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-"),
    ("", {"KAFKA__SSL__CA_FILE": "gone.pem"}, "gone.pem cannot be read: No such file or directory"),
    ("", {"KAFKA__SSL__CA_FILE": "pointsman.toml"}, "is not a PEM file"),
    ("", {"KAFKA__SSL__CERT_FILE": "ca.pem"}, "kafka.ssl.key_file: is needed beside ssl.cert_file"),
    ("", {"KAFKA__SSL__KEY_FILE": "ca.pem"}, "kafka.ssl.cert_file: is needed beside ssl.key_file"),
    ("", {"KAFKA__OIDC__TOKEN_ENDPOINT": "idp"}, "kafka.oidc.token_endpoint: must be a URL that starts with https://"),
    ("", {"KAFKA__OIDC__TOKEN_ENDPOINT": "https://a,b"}, "kafka.oidc.token_endpoint: must be a URL"),
    ("", {"KAFKA__OIDC__TOKEN_ENDPOINT": "https://u:p@idp/"}, "kafka.oidc.token_endpoint: must hold no user"),
    ("", {"KAFKA__OIDC__EXTENSIONS__a1": "x"}, "kafka.oidc.extensions: the extension 'a1' must be letters only"),
    ("", {"KAFKA__OIDC__EXTENSIONS__pool": "a,b"}, "kafka.oidc.extensions: the value of 'pool' must be printable"),
    ("", {"KAFKA__GROUP_PREFIX": "a b"}, "kafka.group_prefix: must be 1 to 100 of"),
    ("", {"KAFKA__INTERNAL__SECURITY_PROTOCOL": "SASL_SSL"}, "kafka.internal.sasl.user: is needed for PLAIN"),
    (
        "",
        {"KAFKA__INTERNAL__BOOTSTRAP_SERVER": "a:1"},
        "kafka.internal.bootstrap_server: is not a setting; allowed are",
    ),
]


@pytest.mark.parametrize(("toml", "env", "told"), WRONG, ids=[told[:60] for *_, told in WRONG])
def test_what_is_missing_or_wrong_is_named_with_its_key(
    toml: str, env: dict[str, str], told: str, refusal: Refusal
) -> None:
    said = str(refusal(toml, **env))
    assert told in said
    assert "\n" not in said
