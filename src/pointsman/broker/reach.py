"""Does anybody listen where the broker is said to be? Asked first: the client itself would try for half a minute."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from pointsman.domain.errors import BrokerError
from pointsman.settings import Settings

SECONDS = 5.0


@dataclass(frozen=True)
class Address:
    server: str
    says: str  # the address that answered, or what is wrong
    answers: bool
    next_step: str = ""


def addresses(servers: str) -> Iterator[Address]:
    """Each of `HOST:PORT[,HOST:PORT…]`, by name and by port; whether it speaks Kafka with us is another question."""
    for server in (server.strip() for server in servers.split(",")):
        host, _, port = server.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
                yield Address(server, f"{connection.getpeername()[0]} accepts connections", True)
        except socket.gaierror as error:
            said = f"the name {host} is not known here: {error.strerror}"
            yield Address(server, said, False, "check kafka.bootstrap_servers, and the DNS or VPN of this machine")
        except (OSError, OverflowError) as error:
            said = f"nobody answers there: {getattr(error, 'strerror', None) or error}"
            step = "start a broker (`pointsman broker`), or check kafka.bootstrap_servers and the firewall"
            yield Address(server, said, False, step)


def require(settings: Settings) -> None:
    """Raises BrokerError unless, of each cluster, one of the addresses accepts connections."""
    for servers in all_servers(settings):
        tried = []
        for address in addresses(servers):
            if address.answers:
                break
            tried.append(address)
        else:
            said = "; ".join(f"{address.server}: {address.says}" for address in tried)
            raise BrokerError(f"the broker cannot be reached: {said}", tried[0].next_step)


def all_servers(settings: Settings) -> list[str]:
    """Of each cluster that the settings name, once."""
    clusters = (settings.kafka, settings.own_cluster, settings.control_cluster)
    return list(dict.fromkeys(cluster.bootstrap_servers for cluster in clusters))
