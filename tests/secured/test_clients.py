"""Our own client on a broker as a bank runs it: administration, writing and reading, by every mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pointsman.broker.source_check import KafkaSourceCheck
from pointsman.broker.tail import Tail
from pointsman.broker.topics import TopicAdmin, TopicPlan
from pointsman.broker.writer import JsonWriter
from pointsman.domain.errors import BrokerError
from tests.secured.broker import MECHANISMS, SecuredBroker, settings_for

pytestmark = pytest.mark.broker
Unique = Callable[[str], str]


@pytest.fixture
def forging(secured: SecuredBroker) -> Iterator[None]:
    secured.provider.forges = True
    yield
    secured.provider.forges = False


@pytest.mark.parametrize("user", MECHANISMS)
def test_topics_are_made_written_read_and_deleted_with_what_acls_allow(
    user: str, secured: SecuredBroker, unique: Unique
) -> None:
    settings = settings_for(secured.login(user), unique)
    secured.allow(user, "TOPIC", settings.topics.prefix, "ALL", prefixed=True)
    admin, topic = TopicAdmin(settings), f"{settings.topics.prefix}t"
    admin.ensure([TopicPlan(topic)])
    writer = JsonWriter(settings.own_cluster)
    writer.put(topic, "k", {"n": 1})
    writer.flush()
    with Tail(settings.own_cluster, {topic: {0: 0}}) as tail:
        assert [value for *_, value in tail.until(admin.end_offsets([topic]), 20)] == [b'{"n": 1}']
    admin.delete([topic])
    assert topic not in admin.existing()


def test_a_certificate_says_who_we_are_as_well(secured: SecuredBroker, unique: Unique) -> None:
    mine = secured.authority.sign("client")
    files = {"ca_file": str(secured.authority.ca), "cert_file": str(mine.cert), "key_file": str(mine.key)}
    kafka = {"bootstrap_servers": secured.addresses["MTLS"], "security_protocol": "SSL", "ssl": files}
    settings = settings_for(kafka, unique)
    secured.allow("CN=client", "TOPIC", settings.topics.prefix, "ALL", prefixed=True)
    admin = TopicAdmin(settings)
    admin.ensure([TopicPlan(f"{settings.topics.prefix}t")])
    assert list(admin.existing()) == [f"{settings.topics.prefix}t"]


def test_the_token_request_carries_scope_and_grant(secured: SecuredBroker, unique: Unique) -> None:
    before = len(secured.provider.asked)
    TopicAdmin(settings_for(secured.login("oauth"), unique)).existing()
    asked = secured.provider.asked[before:]
    assert asked
    assert all(form == {"grant_type": "client_credentials", "scope": "kafka"} for form in asked)


def test_a_token_with_a_bad_signature_is_refused_by_the_broker(
    secured: SecuredBroker, unique: Unique, forging: None
) -> None:
    with pytest.raises(BrokerError, match="does not accept the token of client 'oauth'") as caught:
        TopicAdmin(settings_for(secured.login("oauth"), unique)).existing()
    assert "audience" in caught.value.next_step


def test_without_an_acl_there_is_nothing_to_see(secured: SecuredBroker, unique: Unique) -> None:
    """The administrator sees it, so that the others' not seeing it says something."""
    topic = unique("hidden")
    everything = settings_for({"bootstrap_servers": secured.superuser.bootstrap_servers}, unique)
    TopicAdmin(everything).ensure([TopicPlan(topic)])
    assert topic in TopicAdmin(everything).existing()
    for user in MECHANISMS:
        assert topic not in TopicAdmin(settings_for(secured.login(user), unique)).existing()


def test_a_source_that_may_be_read_passes_the_check_with_no_group_allowed(
    secured: SecuredBroker, unique: Unique
) -> None:
    settings = settings_for(secured.login("plain"), unique)
    source = settings.spec().sources[0]
    writer = JsonWriter(secured.superuser)
    TopicAdmin(settings_for(secured.superuser.model_dump(), unique)).ensure([TopicPlan(source.topic)])
    writer.put(source.topic, None, {"userId": "a"})
    writer.flush()
    secured.allow("plain", "TOPIC", source.topic, "READ", "DESCRIBE")
    assert KafkaSourceCheck(settings, TopicAdmin(settings)).check(source) == []


def test_each_topic_is_looked_for_on_its_own_cluster(secured: SecuredBroker, unique: Unique) -> None:
    """One broker, three users: what the wrong one may not do shows that the right one was asked."""
    kafka = {**secured.login("plain"), "internal": secured.login("scram"), "control": secured.login("oauth")}
    settings = settings_for(kafka, unique)
    secured.allow("scram", "TOPIC", settings.topics.prefix, "ALL", prefixed=True)
    secured.allow("oauth", "TOPIC", settings.control.topic, "ALL")
    own = f"{settings.topics.prefix}own"
    TopicAdmin(settings).ensure([TopicPlan(own), TopicPlan(settings.control.topic)])
    assert set(TopicAdmin(settings).end_offsets([own, settings.control.topic])) == {own, settings.control.topic}
