"""A private certificate authority, made for one run with openssl: what a bank's broker has, and what may be wrong."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

CA = """\
[ca]
default_ca = here
[here]
database = {index}
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
"""


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, each in a PEM file of its own."""

    cert: Path
    key: Path

    @property
    def both(self) -> Path:
        """Key and certificate in one file, as a Java key store of type PEM wants them."""
        path = self.cert.with_suffix(".both.pem")
        path.write_text(self.key.read_text() + self.cert.read_text())
        return path


class Authority:
    """Signs for `localhost` and for clients. `ca` is what those who trust it are given."""

    def __init__(self, folder: Path, name: str = "Pointsman test CA") -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.ca, self._key = folder / "ca.pem", folder / "ca.key"
        new_key(self._key)
        subject = ["-subj", f"/CN={name}"]
        openssl("req", "-x509", "-new", "-key", self._key, "-days", "2", *subject, "-out", self.ca)

    def sign(self, name: str, *more: str) -> Signed:
        """For the host `localhost` and the client `name`; `more` are further words for openssl."""
        signed = Signed(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        new_key(signed.key)
        request, names = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        openssl("req", "-new", "-key", signed.key, "-subj", f"/CN={name}", "-out", request)
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        days = more or ("-days", "2")
        authority: list[str | Path] = ["-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-extfile", names]
        openssl("x509", "-req", "-in", request, *authority, *days, "-out", signed.cert)
        return signed

    def sign_expired(self, name: str) -> Signed:
        """Was good once, and ended before today: openssl 3.0 counts days backwards, too."""
        return self.sign(name, "-days", "-1")

    def sign_for_tomorrow(self, name: str) -> Signed:
        """Good from tomorrow on, which a clock that is a day behind makes of a new one."""
        signed = self.sign(name)
        index, config = self._folder / f"{name}.index", self._folder / f"{name}.cnf"
        index.touch()
        config.write_text(CA.format(index=index, folder=self._folder))
        times = [f"{datetime.now(UTC) + timedelta(days=days):%Y%m%d%H%M%SZ}" for days in (1, 2)]
        span: list[str | Path] = [
            "-startdate",
            times[0],
            "-enddate",
            times[1],
            "-extfile",
            self._folder / f"{name}.ext",
        ]
        request: list[str | Path] = ["-in", self._folder / f"{name}.csr", "-out", signed.cert]
        openssl("ca", "-batch", "-notext", "-config", config, "-cert", self.ca, "-keyfile", self._key, *span, *request)
        return signed

    def encrypt(self, signed: Signed, password: str) -> Path:
        """Its key under a password, in a way that every Java can read."""
        path = signed.key.with_suffix(".encrypted")
        form = ["-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{password}"]
        openssl("pkcs8", *form, "-in", signed.key, "-out", path)
        return path


def new_key(path: Path) -> None:
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", path)


def openssl(*words: str | Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["openssl", *map(str, words)], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
