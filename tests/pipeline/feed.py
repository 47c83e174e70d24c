"""Records to try the pipeline with: random, seeded, and with everything in them that real topics have."""

from __future__ import annotations

import json
import random
from typing import Any

MALFORMED: list[bytes] = [
    b"{",
    b"[]",
    b"null",
    b"42",
    b'"text"',
    b"\xff\xfe{}",
    b"",
    b'{"userId":"u1"} trailing',
    b'{"userId":"u1"}{"userId":"u2"}',
    b"{'userId':'u1'}",
    b'{"userId":"u1",}',
    b'{"userId":"u1","age":NaN,"balance":NaN}',
]
WRONG_USERS: list[bytes] = [
    b'{"userId":"u1","age":"42"}',
    b'{"userId":"u1","age":42.0}',
    b'{"userId":"u1","age":1.5}',
    b'{"userId":"u1","age":true}',
    b'{"userId":"u1","age":9223372036854775808}',
    b'{"userId":"u1","age":{}}',
]
WRONG_ACCOUNTS: list[bytes] = [
    b'{"userId":"u1","balance":"1.5"}',
    b'{"userId":"u1","balance":1e999}',
    b'{"userId":"u1","balance":"NaN"}',
    b'{"userId":"u1","balance":[1]}',
]
ODD_BUT_GOOD: list[bytes] = [
    b'{"userId":7,"name":true}',
    b'{"userId":"u1","name":{"first":"A","last":"B"}}',
    b'{"userId":"u1","extra":{"deep":[1,2,{"x":null}]},"name":"with extra"}',
    b' \n{"userId":"u2","name":"white space"}\n ',
    '{"userId":"ü-ключ-鍵-🔑","name":"Ünï¢ødé 🚂 \\u0000\\u2028\\ud83d\\ude00"}'.encode(),
    b'{"userId":"u3","name":"a } brace","name":"twice"}',
    b'{"name":"no key"}',
    b'{"userId":null,"name":"null key"}',
    b'{"userId":"","name":"empty key"}',
    b'{"USERID":"u1","name":"another case"}',
    b"{}",
]
Sendable = tuple[str, int | None, bytes | None, bytes | None, int]  # source, partition, key, value, timestamp


def random_feed(
    seed: int, count: int, keys: int = 40, partitions: int = 3, t0: int = 1_700_000_000_000
) -> list[Sendable]:
    """Users and accounts in random order: updates, tombstones, null keys, keyless records, every odd and bad kind."""
    rng = random.Random(seed)
    feed: list[Sendable] = [
        (source, rng.randrange(partitions), None, value, t0 + rng.randrange(count * 3))
        for source, wrong in (("users", WRONG_USERS), ("accounts", WRONG_ACCOUNTS))
        for value in MALFORMED + wrong + ODD_BUT_GOOD
    ]
    for _ in range(count):
        source = rng.choice(("users", "accounts"))
        user = f"u{rng.randrange(keys)}"
        ts = t0 + rng.randrange(count * 3)
        partition = rng.randrange(partitions)
        dice = rng.random()
        key: bytes | None = user.encode() if rng.random() < 0.7 else None
        value: bytes | None
        if dice < 0.03:
            key, value = (user.encode() if dice < 0.027 else None), None
        elif dice < 0.06:
            value = rng.choice(MALFORMED + (WRONG_USERS if source == "users" else WRONG_ACCOUNTS))
        elif dice < 0.10:
            value = rng.choice(ODD_BUT_GOOD)
        else:
            value = json.dumps(row(rng, source, user)).encode()
            if dice > 0.97:
                feed.append((source, partition, key, value, ts))  # the same row twice
        feed.append((source, partition, key, value, ts))
    rng.shuffle(feed)
    return feed


def row(rng: random.Random, source: str, user: str) -> dict[str, Any]:
    if source == "users":
        return {
            "userId": user,
            "name": rng.choice(["Ada", "Grace 🚀", "Łukasz", "O'Neil", '"quoted"', "back\\slash"]),
            "email": None if rng.random() < 0.2 else f"{user}@example.org",
            "age": rng.randrange(-5, 120),
        }
    return {
        "userId": user,
        "accountType": rng.choice(["checking", "savings", ""]),
        "balance": rng.choice([0, -1, 1.5, 1e-7, 1e15, 123456789.125, rng.random() * 1000]),
    }
