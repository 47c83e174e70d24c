"""What is said when a broker turns us away: which check failed, for whom, on what, and what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from pointsman.broker import topics
from pointsman.broker.source_check import KafkaSourceCheck
from pointsman.broker.stores import KafkaCatalogStore
from pointsman.broker.topics import TopicAdmin, TopicPlan, fixed_topics
from pointsman.broker.writer import JsonWriter
from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings
from pointsman.web.sending import Sender
from tests.secured.broker import NOBODY, PASSWORDS, SecuredBroker, settings_for
from tests.secured.certificates import Authority

pytestmark = pytest.mark.broker
Unique = Callable[[str], str]
QUICK_SECONDS = 15.0


def changed(kafka: dict[str, Any], **sections: dict[str, Any]) -> dict[str, Any]:
    return {**kafka, **{name: {**kafka.get(name, {}), **values} for name, values in sections.items()}}


def refusal(settings: Settings) -> BrokerError:
    """What asking for topics says, and that it says so soon, not after every time-out."""
    began = time.monotonic()
    with pytest.raises(BrokerError) as caught:
        TopicAdmin(settings).existing()
    assert time.monotonic() - began < QUICK_SECONDS
    assert all(password not in f"{caught.value} {caught.value.next_step}" for password in PASSWORDS.values())
    return caught.value


@pytest.mark.parametrize(("user", "mechanism"), [("plain", "PLAIN"), ("scram", "SCRAM-SHA-512")])
def test_a_wrong_password(user: str, mechanism: str, secured: SecuredBroker, unique: Unique) -> None:
    error = refusal(settings_for(changed(secured.login(user), sasl={"password": "wrong"}), unique))
    assert f"does not accept the password of '{user}' by {mechanism}" in str(error)
    assert "where the password comes from" in error.next_step


def test_a_wrong_client_secret(secured: SecuredBroker, unique: Unique) -> None:
    error = refusal(settings_for(changed(secured.login("oauth"), oidc={"client_secret": "wrong"}), unique))
    assert f"{secured.provider.token_endpoint} gives client 'oauth' no token" in str(error)
    assert "where the client secret comes from" in error.next_step


def test_a_wrong_authority(secured: SecuredBroker, unique: Unique, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Authority(tmp_path_factory.mktemp("other"), "another CA")
    error = refusal(settings_for(changed(secured.login("plain"), ssl={"ca_file": str(other.ca)}), unique))
    assert "is not signed by an authority that we trust" in str(error)
    assert "kafka.ssl.ca_file" in error.next_step


def test_an_expired_certificate(secured: SecuredBroker, unique: Unique) -> None:
    kafka = {"bootstrap_servers": secured.addresses["EXPIRED"], "security_protocol": "SSL"}
    error = refusal(settings_for(changed(kafka, ssl={"ca_file": str(secured.authority.ca)}), unique))
    assert "the broker's certificate has expired" in str(error)
    assert "renewed" in error.next_step


class TestClocks:
    """Of two machines, one is wrong."""

    def test_a_certificate_that_is_not_valid_yet(self, secured: SecuredBroker, unique: Unique) -> None:
        kafka = {"bootstrap_servers": secured.addresses["TOMORROW"], "security_protocol": "SSL"}
        error = refusal(settings_for(changed(kafka, ssl={"ca_file": str(secured.authority.ca)}), unique))
        assert "the broker's certificate is not valid yet" in str(error)
        assert error.next_step == "set this machine's clock"

    def test_a_new_token_that_has_expired(
        self, secured: SecuredBroker, unique: Unique, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(secured.provider, "clock_behind", 3600.0)
        error = refusal(settings_for(secured.login("oauth"), unique))
        assert f"a new token from {secured.provider.token_endpoint} for client 'oauth' has expired" in str(error)
        assert "set this machine's clock" in error.next_step

    def test_a_token_that_the_broker_takes_for_one_of_the_future(
        self, secured: SecuredBroker, unique: Unique, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(secured.provider, "clock_behind", -3600.0)
        error = refusal(settings_for(secured.login("oauth"), unique))
        assert "does not accept the token of client 'oauth'" in str(error)
        assert "this machine's clock" in error.next_step


def test_a_certificate_of_ours_that_is_missing(secured: SecuredBroker, unique: Unique) -> None:
    kafka = {"bootstrap_servers": secured.addresses["MTLS"], "security_protocol": "SSL"}
    error = refusal(settings_for(changed(kafka, ssl={"ca_file": str(secured.authority.ca)}), unique))
    assert "the broker asks for a certificate of ours" in str(error)
    assert "kafka.ssl.cert_file" in error.next_step


def test_no_tls_where_it_is_spoken(secured: SecuredBroker, unique: Unique, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "TIMEOUT", 4.0)
    error = refusal(settings_for({"bootstrap_servers": secured.addresses["PLAIN"]}, unique))
    assert "TLS is spoken there" in str(error)
    assert "kafka.security_protocol" in error.next_step


class TestAcls:
    """Each says topic, operation and principal."""

    @pytest.fixture
    def settings(self, secured: SecuredBroker, unique: Unique) -> Settings:
        return settings_for(secured.login("plain"), unique)

    @pytest.fixture
    def everything(self, secured: SecuredBroker, unique: Unique, settings: Settings) -> Settings:
        """The same topics, for one whom every ACL lets pass."""
        return settings.model_copy(update={"kafka": secured.superuser})

    def test_create(self, settings: Settings) -> None:
        topic = f"{settings.topics.prefix}t"
        with pytest.raises(BrokerError, match=f"User:plain may not CREATE on topic '{topic}'") as caught:
            TopicAdmin(settings).ensure([TopicPlan(topic)])
        assert f"have CREATE on topic '{topic}' allowed to User:plain" in caught.value.next_step

    def test_describe(self, settings: Settings, everything: Settings) -> None:
        topic = f"{settings.topics.prefix}t"
        TopicAdmin(everything).ensure([TopicPlan(topic)])
        with pytest.raises(BrokerError, match=f"User:plain may not DESCRIBE on topic '{topic}'"):
            TopicAdmin(settings).end_offsets([topic])

    def test_delete(self, settings: Settings, everything: Settings, secured: SecuredBroker) -> None:
        topic = f"{settings.topics.prefix}t"
        TopicAdmin(everything).ensure([TopicPlan(topic)])
        secured.allow("plain", "TOPIC", topic, "DESCRIBE")
        with pytest.raises(BrokerError, match=f"User:plain may not DELETE on topic '{topic}'"):
            TopicAdmin(settings).delete([topic])

    def test_write(self, settings: Settings, everything: Settings, secured: SecuredBroker) -> None:
        topic = f"{settings.topics.prefix}t"
        TopicAdmin(everything).ensure([TopicPlan(topic)])
        secured.allow("plain", "TOPIC", topic, "DESCRIBE")
        writer = JsonWriter(settings.own_cluster)
        writer.put(topic, "k", {})
        with pytest.raises(BrokerError, match=f"User:plain may not WRITE on topic '{topic}'"):
            writer.flush()

    def test_read_of_a_source(self, settings: Settings, everything: Settings, secured: SecuredBroker) -> None:
        source = settings.spec().sources[0]
        TopicAdmin(everything).ensure([TopicPlan(source.topic)])
        check = KafkaSourceCheck(settings, TopicAdmin(settings))
        [unseen] = check.check(source)
        assert f"User:plain may not DESCRIBE on topic '{source.topic}'" in unseen
        writer = JsonWriter(secured.superuser)
        writer.put(source.topic, None, {"userId": "a"})
        writer.flush()
        secured.allow("plain", "TOPIC", source.topic, "DESCRIBE")
        [unread] = check.check(source)
        assert f"User:plain may not READ on topic '{source.topic}'" in unread

    def test_a_control_message(self, settings: Settings, everything: Settings, secured: SecuredBroker) -> None:
        topic = settings.control.topic
        TopicAdmin(everything).ensure([TopicPlan(topic)])
        secured.allow("plain", "TOPIC", topic, "DESCRIBE")
        with pytest.raises(BrokerError, match=f"User:plain may not WRITE on topic '{topic}'"):
            Sender(settings).send({"joinType": "left"})

    def test_write_of_one_who_may_write_nowhere(self, secured: SecuredBroker, unique: Unique) -> None:
        settings = settings_for(secured.login(NOBODY), unique)
        topic = f"{settings.topics.prefix}t"
        everything = settings.model_copy(update={"kafka": secured.superuser})
        TopicAdmin(everything).ensure([TopicPlan(topic), TopicPlan(settings.control.topic)])
        for seen in (topic, settings.control.topic):
            secured.allow(NOBODY, "TOPIC", seen, "DESCRIBE")
        writer = JsonWriter(settings.own_cluster)
        writer.put(topic, "k", {})
        with pytest.raises(BrokerError, match=f"User:nobody may not WRITE on topic '{topic}'"):
            writer.flush()
        with pytest.raises(BrokerError, match=f"User:nobody may not WRITE on topic '{settings.control.topic}'"):
            Sender(settings).send({"joinType": "left"})
        secured.allow(NOBODY, "TOPIC", topic, "WRITE")
        deadline = time.monotonic() + 20
        while not written(writer, topic):  # by the same writer, once the broker knows
            assert time.monotonic() < deadline

    def test_the_catalog_s_transactions(self, settings: Settings, everything: Settings, secured: SecuredBroker) -> None:
        TopicAdmin(everything).ensure(fixed_topics(everything))
        secured.allow("plain", "TOPIC", settings.topics.prefix, "ALL", prefixed=True)
        name = f"{settings.topics.prefix}orchestrator"
        with pytest.raises(BrokerError, match=f"User:plain may not WRITE on transactional id '{name}'"):
            KafkaCatalogStore(settings).load()


def written(writer: JsonWriter, topic: str) -> bool:
    writer.put(topic, "k", {})
    try:
        writer.flush()
    except BrokerError:
        return False
    return True
