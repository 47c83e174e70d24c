"""Which further properties of Kafka's clients an operator may set.

All but those that could carry code (a class to load, a command to run), those that carry a secret, which has ways of
its own, and those that Pointsman sets itself.
"""

from __future__ import annotations

import re

NAME_RULE = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")
CODE = re.compile(
    r"class|jaas|callback|interceptor|reporter|provider|engine|plugin|partitioner|serializer|deserializer|"
    r"assignment\.strategy|retriever|validator|template|kinit|cmd$|command|script|_cb$|unsecure|oauthbearer\.config"
)
SECRET = re.compile(
    r"password|passphrase|secret|credential|assertion|private|\.key$|\.pem$|keystore|certificate|token$|\.file$"
)
# What has a setting of its own, or follows from what Pointsman promises.
INSTEAD = {
    "bootstrap.servers": "kafka.bootstrap_servers",
    "metadata.broker.list": "kafka.bootstrap_servers",
    "security.protocol": "kafka.security_protocol",
    "sasl.mechanism": "kafka.sasl.mechanism",
    "sasl.mechanisms": "kafka.sasl.mechanism",
    "sasl.username": "kafka.sasl.user",
    "sasl.oauthbearer.method": "kafka.oidc",
    "sasl.oauthbearer.token.endpoint.url": "kafka.oidc.token_endpoint",
    "sasl.oauthbearer.client.id": "kafka.oidc.client_id",
    "sasl.oauthbearer.scope": "kafka.oidc.scope",
    "sasl.oauthbearer.extensions": "kafka.oidc.extensions",
    "https.ca.location": "kafka.oidc.ca_file",
    "ssl.ca.location": "kafka.ssl.ca_file",
    "ssl.truststore.location": "kafka.ssl.ca_file",
    "ssl.truststore.type": "kafka.ssl.ca_file",
    "ssl.key.location": "kafka.ssl.key_file",
    "group.id": "kafka.group_prefix",
}
OURS = {
    "acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "client.id",
    "debug",  # librdkafka's would write what goes over the wire
    "delivery.report.only.error",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "isolation.level",
    "log_level",
    "logger",
    "transactional.id",
}
SETTINGS_ARE_TEXT = re.compile(r"[^\x00-\x1f\x7f]*")
LOGIN_IN_URL = re.compile(r"://[^/\s]*@")


def refused(name: str, value: str) -> str:
    """Why this property may not be set, without its value; empty if it may."""
    if not NAME_RULE.fullmatch(name):
        return f"'{name[:100]}' is not the name of a client property"
    if name in INSTEAD:
        return f"'{name}' has a setting of its own: {INSTEAD[name]}"
    if name in OURS:
        return f"'{name}' is set by Pointsman itself"
    if SECRET.search(name):
        return f"'{name}' could carry a secret, and those do not come this way; see docs/how-to/secured-kafka.md"
    if CODE.search(name):
        return f"'{name}' could carry code, and is not passed on"
    if "${" in value or LOGIN_IN_URL.search(value) or not SETTINGS_ARE_TEXT.fullmatch(value):
        return f"the value of '{name}' must be plain text: no ${{…}}, no password in a URL, no line end"
    return ""
