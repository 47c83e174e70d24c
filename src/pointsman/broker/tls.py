"""What is wrong with the TLS of a broker, asked of it directly: librdkafka says no more than that something is."""

from __future__ import annotations

import socket
import ssl

from pointsman.broker.security import HOST_CHECK
from pointsman.settings import Connection

SECONDS = 3.0
ALERT_SECONDS = 0.5
SPOKEN = "TLS is spoken there"


def problem(kafka: Connection) -> str:
    """In the words of the TLS library; empty if there is none, or nobody answers."""
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            if found := _problem(kafka, host.strip("[]"), int(port)):
                return found
        except OSError:
            continue  # not there, or too slow: no matter of certificates
    return ""


def _problem(kafka: Connection, host: str, port: int) -> str:
    wanted = kafka.security_protocol.has_tls
    with socket.create_connection((host, port), timeout=SECONDS) as plain:
        try:
            with (_trusting(kafka) if wanted else _curious()).wrap_socket(plain, server_hostname=host) as tls:
                if not wanted:
                    return SPOKEN
                # Whoever misses a certificate of ours says so only when the handshake is over.
                tls.settimeout(ALERT_SECONDS)
                tls.recv(1)
        except TimeoutError:
            return ""
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        except ssl.SSLError as error:
            return (error.reason or str(error)).replace("_", " ").lower() if wanted else ""
    return ""


def _trusting(kafka: Connection) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=kafka.ssl.ca_file or None)
    context.check_hostname = kafka.properties.get(HOST_CHECK, "https") not in ("", "none")
    if kafka.ssl.cert_file:
        password = kafka.ssl.key_password.get_secret_value()
        context.load_cert_chain(kafka.ssl.cert_file, kafka.ssl.key_file, lambda: password)
    return context


def _curious() -> ssl.SSLContext:
    """Only wants to know whether anybody speaks TLS; nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
