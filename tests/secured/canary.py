"""Looking for secrets where none may be: in files, topics and the list of processes, whatever they are wrapped in."""

from __future__ import annotations

import base64
import gzip
import re
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

WORDS = re.compile(rb"canary[A-Z][A-Za-z]+[0-9a-f]{4}")


def disguises(canary: str) -> set[bytes]:
    """The word as it is, and what is left of it, whole, in base64 at each of three alignments."""
    word = canary.encode()
    found = {word, urllib.parse.quote(canary).encode(), word.hex().encode()}
    for shift in range(3):
        inner = base64.b64encode(b"\0" * shift + word)
        start, end = -(-shift * 4 // 3) + (1 if shift else 0), len(inner) - 4
        found.add(inner[start:end])
    return found


class Search:
    """Knows what to look for. Every `in_` says where something was found; nothing found is an empty list."""

    def __init__(self, secrets: Iterable[str]) -> None:
        canaries = [found.decode() for secret in secrets for found in WORDS.findall(secret.encode())]
        assert canaries, "there is nothing to look for"
        self._signs = {sign for canary in canaries for sign in disguises(canary)}

    def hits(self, data: bytes) -> bool:
        return any(sign in data for sign in self._signs)

    def in_folder(self, folder: Path) -> list[str]:
        """Names count, too: a secret may end up in one."""
        found = [str(p) for p in folder.rglob("*") if self.hits(str(p.relative_to(folder)).encode())]
        return found + [str(p) for p in folder.rglob("*") if p.is_file() and any(map(self.hits, _contents(p)))]

    def in_records(self, records: Iterable[tuple[str, int, int, bytes | None, bytes | None]]) -> list[str]:
        return [
            f"{topic}-{partition}-{offset}"
            for topic, partition, offset, key, value in records
            if self.hits((key or b"") + b"\0" + (value or b""))
        ]

    def in_processes(self) -> list[str]:
        """Command lines of every process of this machine: what anybody can see."""
        found = []
        for process in psutil.process_iter():
            try:
                words = "\0".join(process.cmdline()).encode()
            except psutil.Error:
                continue
            if self.hits(words):
                found.append(f"process {process.pid}")
        return found


def _contents(path: Path) -> Iterator[bytes]:
    try:
        data = path.read_bytes()
    except OSError:
        return  # a file that was removed while we looked
    yield data
    for unpack in (gzip.decompress, zlib.decompress):
        try:
            yield unpack(data)
        except (OSError, EOFError, zlib.error):
            continue
