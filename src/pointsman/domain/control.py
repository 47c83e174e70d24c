"""A control message, as bytes from anyone, becomes a command or a refusal that says what is allowed.

A message can name topics and a join type, and nothing else: no client property, no column, no code.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman.domain.spec import JoinType

TOPIC_RULE = re.compile(r"[a-zA-Z0-9._-]{1,249}")
JOIN_FIELD = "joinType"
ROLLBACK_FIELD = "rollback"
REQUEST_FIELD = "requestId"
REQUEST_LENGTH = 200
NAMED_UNKNOWN_FIELDS = 20

# Starts with "left", and yet asks for rows that a left join does not give.
OTHER_QUESTIONS = re.compile(r"left(semi|anti)")
JOIN_FORMS: tuple[tuple[re.Pattern[str], JoinType], ...] = (
    (re.compile(r"left.*"), JoinType.LEFT),
    (re.compile(r"inner.*"), JoinType.INNER),
    (re.compile(r"natural.*"), JoinType.NATURAL),
    (re.compile(r"right(outer)?(join)?"), JoinType.RIGHT),
    (re.compile(r"(full|outer|fullouter)(join)?"), JoinType.FULL),
    (re.compile(r"asof(join)?"), JoinType.ASOF),
)


@dataclass(frozen=True)
class Rules:
    """What a message may name here."""

    sources: tuple[str, ...]
    own_prefix: str
    allow_topics: str = ".*"  # pattern of the whole name


@dataclass(frozen=True)
class ControlMessage:
    """One record of the control topic, raw."""

    partition: int
    offset: int
    value: bytes | None

    @property
    def place(self) -> str:
        return f"{self.partition}-{self.offset}"


@dataclass(frozen=True)
class Change:
    """Point these sources at these topics and join so; whatever is not named stays as it is wanted now."""

    topics: Mapping[str, str] = field(default_factory=dict)
    join: JoinType | None = None
    request_id: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rollback:
    """Show again what was shown before."""

    request_id: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    reason: str
    request_id: str | None = None
    ignored: tuple[str, ...] = ()


class _Refused(Exception):
    pass


def read(value: bytes | None, rules: Rules) -> Change | Rollback | Refusal:
    """What a message asks for. Never raises, whatever the bytes are."""
    if not value or not value.strip():
        return Refusal("the message is empty; it must be a JSON object such as " + _example(rules))
    try:
        fields = json.loads(value.decode())
    except UnicodeDecodeError:
        return Refusal("the message is not UTF-8")
    except (ValueError, RecursionError) as error:
        return Refusal(f"the message is not JSON: {_short(error)}")
    if not isinstance(fields, dict):
        return Refusal(f"the message is {_kind(fields)}; it must be a JSON object such as {_example(rules)}")
    topic_fields = {f"{source}Topic": source for source in rules.sources}
    known = {*topic_fields, JOIN_FIELD, ROLLBACK_FIELD, REQUEST_FIELD}
    ignored = tuple(_short(name) for name in fields if name not in known)[:NAMED_UNKNOWN_FIELDS]
    request_id: str | None = None
    try:
        request_id = _request_id(fields.get(REQUEST_FIELD))
        topics = {
            source: topic
            for name, source in topic_fields.items()
            if (topic := _topic(name, fields.get(name), rules)) is not None
        }
        join = _join(fields.get(JOIN_FIELD))
        if _rollback(fields.get(ROLLBACK_FIELD)):
            if topics or join:
                raise _Refused("rollback: a rollback cannot carry a topic or a join type; send them afterwards")
            return Rollback(request_id, ignored)
        return Change(topics, join, request_id, ignored)
    except _Refused as refusal:
        return Refusal(str(refusal), request_id, ignored)


def topic_problem(topic: str, rules: Rules) -> str | None:
    """Why this cannot be the name of a source's topic; None if it can."""
    if not TOPIC_RULE.fullmatch(topic) or topic in (".", ".."):
        return f"'{_short(topic)}' is not a topic name: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'"
    if topic.startswith("__"):
        return f"'{topic}' is one of Kafka's own topics; names starting with '__' are not allowed"
    if topic.startswith(rules.own_prefix):
        return f"'{topic}' is one of Pointsman's own topics; names starting with '{rules.own_prefix}' are not allowed"
    if not re.fullmatch(rules.allow_topics, topic):
        return f"'{topic}' is not allowed here; control.allow_topics is '{rules.allow_topics}'"
    return None


def join_type(text: str) -> JoinType | None:
    """The join that these words mean: case, blanks, '_' and '-' do not matter. None for no known one."""
    word = re.sub(r"[\s_-]+", "", text).casefold()
    if OTHER_QUESTIONS.match(word):
        return None
    return next((join for form, join in JOIN_FORMS if form.fullmatch(word)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean '…'?`, or nothing where no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean '{near[0]}'?" if near else ""


def _topic(name: str, value: Any, rules: Rules) -> str | None:
    text = _text(name, value, "a topic name")
    if not text:
        return None
    problem = topic_problem(text, rules)
    if problem:
        raise _Refused(f"{name}: {problem}")
    return text


def _join(value: Any) -> JoinType | None:
    text = _text(JOIN_FIELD, value, "a join type")
    if not text:
        return None
    join = join_type(text)
    if join is None:
        allowed = [j.value for j in JoinType]
        raise _Refused(
            f"{JOIN_FIELD}: '{_short(text)}' is not a join type; allowed are {', '.join(allowed)}"
            + did_you_mean(text.casefold(), allowed)
        )
    return join


def _rollback(value: Any) -> bool:
    if value is None or value is False or value == "":
        return False
    if value is True:
        return True
    raise _Refused(f"{ROLLBACK_FIELD}: {_short(json.dumps(value))} is neither true nor false")


def _request_id(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, int | str) and not isinstance(value, bool) and len(str(value)) <= REQUEST_LENGTH:
        if str(value) == _writable(str(value)):
            return str(value)
        raise _Refused(f"{REQUEST_FIELD}: has half of a character pair, which no UTF-8 text can hold")
    raise _Refused(f"{REQUEST_FIELD}: must be a string of at most {REQUEST_LENGTH} characters")


def _text(name: str, value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Refused(f"{name}: {_short(json.dumps(value))} is {_kind(value)}; it must be {what}, as a string")
    return value.strip()


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def _example(rules: Rules) -> str:
    return json.dumps({f"{rules.sources[0]}Topic": "…", JOIN_FIELD: "left"}, ensure_ascii=False)


def _short(value: object, limit: int = 100) -> str:
    text = _writable(str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _writable(text: str) -> str:
    """JSON can spell half of a character pair (`\\ud800`), which no UTF-8 text can hold: a verdict must be able to."""
    return text.encode("utf-8", "replace").decode()
