"""The doctor at a tables server: by http, by https, and at a certificate that viewers will not accept."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman.broker.topics import TopicAdmin, fixed_topics
from pointsman.doctor.findings import Finding, Level
from pointsman.doctor.tables import examine
from pointsman.settings import Settings, load
from tests.secured.certificates import Authority, Signed
from tests.tables.stage import KEY_OF_VIEWERS, TablesProcess

Serve = Callable[[Signed], int]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Shows a certificate to whoever comes, on a port, and has nothing else to say."""
    listeners: list[socket.socket] = []

    def accept(listener: socket.socket, context: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError):
            while True:
                plain, _ = listener.accept()
                with plain, contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as tls:
                    tls.recv(1)

    def start(signed: Signed) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(signed.cert, signed.key)
        threading.Thread(target=accept, args=(listener, context), daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def settings_with(
    signed: Signed, home: Path, port: int, authority: Path | str, url: str = "", key: str = ""
) -> Settings:
    files = {"tls_certificate": str(signed.cert), "tls_key": str(signed.key), "tls_ca": str(authority)}
    tables = {"port": port, "key": key, **files}
    return load(env={}, flags={"home": str(home), "tables": tables, "web": {"tables_url": url}})


def certificate_of(found: list[Finding]) -> Finding:
    return next(finding for finding in found if finding.check == "tables certificate")


class TestCertificates:
    def test_one_that_ends_soon(self, authority: Authority, serve: Serve, tmp_path: Path) -> None:
        signed = authority.sign("soon")
        found = list(examine(settings_with(signed, tmp_path, serve(signed), authority.ca)))
        assert certificate_of(found).level is Level.WARNING
        assert certificate_of(found).says.startswith("is for localhost, 127.0.0.1, and ends in ")
        assert "POINTSMAN_TABLES__KEY" in found[-1].next_step

    def test_one_that_is_good_for_long(self, authority: Authority, serve: Serve, tmp_path: Path) -> None:
        signed = authority.sign("long", "-days", "90")
        assert (
            certificate_of(list(examine(settings_with(signed, tmp_path, serve(signed), authority.ca)))).level
            is Level.OK
        )

    def test_one_of_an_authority_that_is_not_trusted_here(
        self, authority: Authority, serve: Serve, tmp_path: Path
    ) -> None:
        signed = authority.sign("private")
        [found] = examine(settings_with(signed, tmp_path, serve(signed), ""))
        assert found.level is Level.PROBLEM
        assert "unable to get local issuer certificate" in found.says
        assert "tables.tls_ca" in found.next_step

    def test_one_that_has_expired(self, authority: Authority, serve: Serve, tmp_path: Path) -> None:
        signed = authority.sign_expired("expired")
        [found] = examine(settings_with(signed, tmp_path, serve(signed), authority.ca))
        assert (found.level, found.says) == (Level.PROBLEM, "is not accepted here: certificate has expired")
        assert "renewed" in found.next_step

    def test_one_for_another_name_than_browsers_come_by(
        self, authority: Authority, serve: Serve, tmp_path: Path
    ) -> None:
        signed = authority.sign("elsewhere")
        url = "https://tables.bank.example:10000"
        found = certificate_of(list(examine(settings_with(signed, tmp_path, serve(signed), authority.ca, url))))
        assert found.level is Level.PROBLEM
        assert "is for localhost, 127.0.0.1, and browsers are sent to tables.bank.example" in found.says
        assert "set web.tables_url to https://localhost:" in found.next_step

    def test_an_authority_that_is_not_there(self, authority: Authority, serve: Serve, tmp_path: Path) -> None:
        signed = authority.sign("alone")
        [found] = examine(settings_with(signed, tmp_path, serve(signed), tmp_path / "missing.pem"))
        assert (found.level, found.says) == (Level.PROBLEM, "is not accepted here: No such file or directory")


@pytest.mark.broker
@pytest.mark.tables
def test_by_https_it_sees_rows_and_the_console_as_a_viewer_does(
    live_settings: Settings, authority: Authority, tmp_path: Path
) -> None:
    signed = authority.sign("tables", "-days", "90")
    TopicAdmin(live_settings).ensure(fixed_topics(live_settings))
    files = {"POINTSMAN_TABLES__TLS_CERTIFICATE": str(signed.cert), "POINTSMAN_TABLES__TLS_KEY": str(signed.key)}
    server = TablesProcess(live_settings, tmp_path, env=files)
    try:
        server.await_ready()
        right = settings_with(signed, tmp_path, server.port, authority.ca, key=KEY_OF_VIEWERS)
        found = {finding.check: finding for finding in examine(right)}
        assert {finding.level for finding in found.values()} == {Level.OK}
        assert found["tables"].says == f"127.0.0.1:{server.port} answers by https; final_ui has 0 rows"
        assert found["console"].says.startswith("off")

        elsewhere = settings_with(
            signed, tmp_path, server.port, authority.ca, "https://tables.bank.example", KEY_OF_VIEWERS
        )
        levels = {finding.check: finding.level for finding in examine(elsewhere)}
        assert levels == {"tables certificate": Level.PROBLEM, "tables": Level.OK, "console": Level.OK}

        wrong = settings_with(signed, tmp_path, server.port, authority.ca, key="another key")
        refused = {finding.check: finding for finding in examine(wrong)}["tables"]
        assert refused.level is Level.PROBLEM
        assert "does not let us in" in refused.says
    finally:
        server.kill()
