"""The search for secrets finds one that is planted, wherever it looks."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.secured.canary import Search

CANARY = "canaryPlanted12ab"
SECRET = f"before'\"{CANARY}"


@pytest.fixture
def search() -> Search:
    return Search([SECRET])


@pytest.mark.parametrize(
    "content",
    [
        SECRET.encode(),
        json.dumps({"x": SECRET}).encode(),
        *(base64.b64encode(b"u" * shift + b":" + SECRET.encode() + b"tail") for shift in range(3)),
        gzip.compress(SECRET.encode()),
        CANARY.encode().hex().encode(),
    ],
)
def test_in_a_file(search: Search, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"x" * 1000 + content if not content.startswith(b"\x1f") else content)
    assert search.in_folder(tmp_path) == [str(tmp_path / "deep" / "file")]


def test_in_the_name_of_a_file(search: Search, tmp_path: Path) -> None:
    (tmp_path / CANARY).touch()
    assert search.in_folder(tmp_path) == [str(tmp_path / CANARY)]


def test_in_a_record_s_key_and_value(search: Search) -> None:
    records = [("t", 0, 0, None, b"x"), ("t", 0, 1, SECRET.encode(), None), ("t", 0, 2, b"k", SECRET.encode())]
    assert search.in_records(records) == ["t-0-1", "t-0-2"]


def test_in_the_list_of_processes(search: Search) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", f"--password={SECRET}"], stdin=subprocess.PIPE) as process:
        assert search.in_processes() == [f"process {process.pid}"]
        process.communicate(b"\n")


def test_nothing_where_there_is_nothing(search: Search, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 100)
    assert search.in_folder(tmp_path) == []
    assert not search.hits(b"canary")
