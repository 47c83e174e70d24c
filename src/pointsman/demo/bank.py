"""The small bank: who its customers are, and what happens there next. Pure: chance and time come from the caller.

Each happening is told twice: on the raw topics as the systems of the bank would, and on the curated ones as a data team
would have cleaned it up, so that a switch between the two can be seen at a glance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

USERS, ACCOUNTS = "users", "accounts"
CURATED = {USERS: "users_curated", ACCOUNTS: "accounts_curated"}
TOPICS = (USERS, ACCOUNTS, *CURATED.values())

FIRST = "Ada Alan Barbara Carlos Chen Dorothy Edsger Fatima Grace Hedy Ines Jean Joan Kenji Lena Linus Margaret Noor"
FIRST += " Olga Priya Radia Sofia Tim Wangari Yuki"
LAST = "Abebe Allen Bartik Becker Costa Dijkstra Fischer Garcia Hamilton Hopper Ivanova Kapoor Keller Lamarr Liskov"
LAST += " Lovelace Mensah Moreau Nakamura Okafor Perlman Ritchie Silva Turing Wilkes"
KINDS = {"chk": "Current account", "sav": "Savings account", "dep": "Fixed deposit", "cc": "Credit card"}
SHARE_WITHOUT_ACCOUNT = 0.2  # what tells a left join from an inner one
SMALLEST, LARGEST = 0.9, 1.1  # how far the number of customers may stray from what it was


@dataclass(frozen=True)
class Record:
    """What goes on a topic; a value of None takes the key away."""

    topic: str
    key: str
    value: bytes | None


@dataclass(frozen=True)
class Customer:
    number: int
    first: str
    last: str
    age: int
    kind: str | None  # of the account; None where there is none
    cents: int = 0

    @property
    def id(self) -> str:
        return f"u{self.number:04}"

    @property
    def verified(self) -> bool:
        """The curated topics know verified customers only: two out of three."""
        return self.number % 3 != 0

    def user(self) -> Iterator[Record]:
        mail = f"{self.first}.{self.last}@example.org".lower()
        row = {"userId": self.id, "name": f"{self.first} {self.last}", "email": mail, "age": self.age}
        yield Record(USERS, self.id, _json(row))
        if self.verified:
            shown = f"{mail[0]}•••@example.org"
            curated = row | {"name": f"{self.last.upper()}, {self.first}", "email": shown}
            yield Record(CURATED[USERS], self.id, _json(curated))

    def account(self) -> Iterator[Record]:
        if self.kind is None:
            return
        row = {"userId": self.id, "accountType": self.kind, "balance": self.cents / 100}
        yield Record(ACCOUNTS, self.id, _json(row))
        if self.verified:
            yield Record(CURATED[ACCOUNTS], self.id, _json(row | {"accountType": KINDS[self.kind]}))

    def gone(self) -> Iterator[Record]:
        for topic in TOPICS:
            yield Record(topic, self.id, None)


class Bank:
    """The same seed gives the same bank and the same story."""

    def __init__(self, chance: Random, customers: int = 300) -> None:
        self._chance = chance
        self._wanted = customers
        self._next = 1
        self._turn = 0
        self.customers: list[Customer] = []
        for _ in range(customers):
            self._join()

    def everyone(self) -> Iterator[Record]:
        """As things stand: one record for every customer and one for every account."""
        for customer in self.customers:
            yield from customer.user()
            yield from customer.account()

    def happening(self) -> Iterator[Record]:
        """What happens next: mostly money moves; people have birthdays, marry, come and go.

        Customers take turns, so that everyone is heard of again before long.
        """
        self._turn = (self._turn + 1) % len(self.customers)
        at, dice = self._turn, self._chance.random()
        customer = self.customers[at]
        if dice < 0.03 and len(self.customers) < self._wanted * LARGEST:
            newcomer = self._join()
            yield from newcomer.user()
            yield from newcomer.account()
        elif dice < 0.05 and len(self.customers) > self._wanted * SMALLEST:
            self.customers.pop(at)
            yield from customer.gone()
        elif dice < 0.20 or customer.kind is None:
            age = customer.age + 1 if dice < 0.12 and customer.age < 90 else customer.age
            last = self._chance.choice(LAST.split()) if 0.18 <= dice < 0.20 else customer.last
            self.customers[at] = changed = replace(customer, age=age, last=last)
            yield from changed.user()
        else:
            moved = self._chance.randint(-40_000, 45_000)
            self.customers[at] = changed = replace(customer, cents=max(0, customer.cents + moved))
            yield from changed.account()

    def nonsense(self) -> Record:
        """A record that is not right, as every real topic has some: each kind becomes a dead letter but the last."""
        customer = self._chance.choice(self.customers)
        age = json.dumps({"userId": customer.id, "name": customer.first, "age": "forty-two"})
        kinds = [
            (USERS, b'{"userId": "u0001", "name": "Ad'),
            (USERS, age.encode()),
            (ACCOUNTS, b"<account/>"),
            (ACCOUNTS, b'[{"balance": 1}]'),
            (ACCOUNTS, b'{"accountType": "sav", "balance": 5}'),  # without a key: in the view, off the join
        ]
        topic, value = self._chance.choice(kinds)
        return Record(topic, customer.id, value)

    def _join(self) -> Customer:
        chance = self._chance
        kind = None if chance.random() < SHARE_WITHOUT_ACCOUNT else chance.choice(list(KINDS))
        customer = Customer(
            self._next,
            chance.choice(FIRST.split()),
            chance.choice(LAST.split()),
            chance.randint(18, 90),
            kind,
            chance.randint(0, 2_000_000),
        )
        self._next += 1
        self.customers.append(customer)
        return customer


def _json(row: dict[str, object]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()
