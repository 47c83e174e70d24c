"""What may pass to a Kafka client, and what may not: nothing that could carry code or a secret."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pointsman.broker import java
from pointsman.settings.properties import refused
from tests.settings.conftest import Load, Refusal

ALLOWED = {
    "ssl.endpoint.identification.algorithm": "",
    "sasl.oauthbearer.sub.claim.name": "azp",
    "sasl.oauthbearer.header.urlencode": "true",
    "sasl.login.connect.timeout.ms": "10000",
    "client.rack": "zone-a",
    "socket.keepalive.enable": "true",
    "connections.max.idle.ms": "60000",
    "ssl.protocol": "TLSv1.3",
    "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384",
    "client.dns.lookup": "use_all_dns_ips",
}
DENIED = [
    "sasl.jaas.config",
    "sasl.client.callback.handler.class",
    "config.providers",
    "config.providers.file.class",
    "interceptor.classes",
    "metric.reporters",
    "partition.assignment.strategy",
    "plugin.library.paths",
    "sasl.kerberos.kinit.cmd",
    "security.providers",
    "ssl.engine.location",
    "ssl.engine.factory.class",
    "ssl.providers",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.secret",
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
    "bootstrap.servers",
    "group.id",
    "debug",
    "Sasl.Password",
    "a b",
    "",
]
LIST_ALL = """
import org.apache.kafka.common.config.ConfigDef;
class ListAll {
    public static void main(String[] arguments) throws Exception {
        for (String name : "consumer.ConsumerConfig,producer.ProducerConfig,admin.AdminClientConfig".split(",")) {
            Class<?> client = Class.forName("org.apache.kafka.clients." + name);
            ConfigDef known = (ConfigDef) client.getMethod("configDef").invoke(null);
            for (ConfigDef.ConfigKey key : known.configKeys().values()) {
                System.out.println(key.type + " " + key.name);
            }
        }
    }
}
"""


@pytest.mark.parametrize(("name", "value"), ALLOWED.items())
def test_what_carries_neither_code_nor_a_secret_passes(name: str, value: str) -> None:
    assert refused(name, value) == ""


@pytest.mark.parametrize("name", DENIED)
def test_what_could_carry_code_or_a_secret_or_is_ours_does_not(name: str) -> None:
    assert refused(name, "x")


@pytest.mark.parametrize("value", ["${env:HOME}", "https://u:p@host/", "a\nb", "a\x00"])
def test_a_value_that_is_more_than_text_does_not_pass(value: str) -> None:
    assert refused("client.rack", value)


@pytest.mark.broker
def test_no_property_of_kafka_s_own_clients_that_is_a_class_or_a_password_passes(tmp_path: Path) -> None:
    """Asked of the client itself: a version that adds such a property fails here."""
    source = tmp_path / "ListAll.java"
    source.write_text(LIST_ALL)
    command = [java.java_command(), "-cp", f"{java.jars('broker')}/*", str(source)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    found = [line.split(" ", 1) for line in listed if line]
    assert len(found) > 150
    passing = {name for kind, name in found if kind in ("CLASS", "PASSWORD") and not refused(name, "x")}
    assert passing == set()


def test_properties_may_be_written_with_or_without_quotes_and_as_variables(load: Load) -> None:
    toml = '[kafka.properties]\n"client.rack" = "a"\nsocket.keepalive.enable = true\n'
    found = load(toml, KAFKA__PROPERTIES__SSL_PROTOCOL="TLSv1.3").kafka.properties
    assert found == {"client.rack": "a", "socket.keepalive.enable": "true", "ssl.protocol": "TLSv1.3"}


def test_a_property_that_is_refused_is_named_without_its_value(refusal: Refusal) -> None:
    told = str(refusal('[kafka.properties]\n"sasl.password" = "hunter2"\n'))
    assert told.startswith("kafka.properties: 'sasl.password' could carry a secret")
    assert "hunter2" not in told
