"""The audit asks about everything, and says what it was told, or that nobody could be asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pointsman.broker.embedded import free_port

ROOT = Path(__file__).parents[2]
BILL = {
    "components": [
        {"name": n, "version": "1", "purl": f"pkg:{kind}/{n}@1"}
        for kind, n in (("pypi", "good"), ("npm", "bad"), ("generic", "nameless"))
    ]
}


@pytest.fixture
def service() -> Iterator[str]:
    """Knows one vulnerability, of the package that is called `bad`; does not want to hear of jars."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["queries"]
            results = [{"vulns": [{"id": "CVE-1"}]} if "bad" in q["package"]["purl"] else {} for q in asked]
            known = self.path == "/v1/querybatch" and not any("maven" in q["package"]["purl"] for q in asked)
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def audit(folder: Path, bill: object, service: str) -> subprocess.CompletedProcess[str]:
    path = folder / "sbom.json"
    path.write_text(json.dumps(bill))
    command = [sys.executable, "-m", "supply_chain.audit", str(path)]
    env = {**os.environ, "OSV_API": service, "no_proxy": "127.0.0.1"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_a_known_vulnerability_fails_and_is_named_with_its_package(service: str, tmp_path: Path) -> None:
    done = audit(tmp_path, BILL, service)
    assert done.returncode == 1
    assert "pkg:npm/bad@1: CVE-1" in done.stdout
    assert "Python packages: 1 asked about, 0 with known vulnerabilities" in done.stdout
    assert "page libraries: 1 asked about, 1 with known vulnerabilities" in done.stdout
    assert "not asked about, because they do not say whose they are: nameless 1" in done.stdout
    assert done.stderr == ""


def test_what_one_kind_is_known_of_is_told_when_another_could_not_be_asked_about(service: str, tmp_path: Path) -> None:
    jar = {"name": "j", "version": "1", "purl": "pkg:maven/g/j@1"}
    done = audit(tmp_path, {"components": [BILL["components"][0], jar]}, service)
    assert done.returncode == 2
    assert "Python packages: 1 asked about, 0 with known vulnerabilities" in done.stdout
    assert "could not be asked about: 1 jars: it answers 404 Not Found" in done.stderr
    assert audit(tmp_path, {"components": [*BILL["components"], jar]}, service).returncode == 1


def test_without_any_it_passes(service: str, tmp_path: Path) -> None:
    assert audit(tmp_path, {"components": BILL["components"][:1]}, service).returncode == 0


@pytest.mark.parametrize("service_address", ["", "http://127.0.0.1:{port}"])
def test_nobody_to_ask_is_not_taken_for_nothing_known(service_address: str, tmp_path: Path) -> None:
    done = audit(tmp_path, BILL, service_address.format(port=free_port()))
    assert done.returncode == 2
    if service_address:
        assert "could not be asked about: 1 page libraries: [Errno 111] Connection refused" in done.stderr
    else:
        assert "nothing was asked about 3 components. OSV_API is not set" in done.stderr


def test_a_page_that_answers_in_another_protocol_is_not_taken_for_nothing_known(tmp_path: Path) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"results": []}')

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = audit(tmp_path, BILL, f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()
    assert done.returncode == 2
    assert "it does not answer in OSV's protocol (ValueError: 0 answers to 1 questions)" in done.stderr
