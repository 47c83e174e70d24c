"""The groups of settings: name, type, default and one line of help; `docs/reference/settings.md` says the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    field_validator,
)

from pointsman.domain import control
from pointsman.domain.spec import ColumnType, JoinType

PREFIX_RULE = re.compile(r"[a-zA-Z0-9._-]{1,100}")
NAME_RULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
HEAP_RULE = re.compile(r"[1-9]\d*[kmgKMG]")
SECRET_CONF = re.compile(r"secret|password|token|access\.?key", re.IGNORECASE)  # what Spark itself takes for one
MASK = str(SecretStr("x"))  # what is printed in place of a secret


def _heap(value: str) -> str:
    if not HEAP_RULE.fullmatch(value):
        raise ValueError("must be a number and a unit, such as 512m or 2g")
    return value


def _join(value: Any) -> Any:
    """The words that control messages may use, too: `left_outer` is left."""
    return control.join_type(value) or value if isinstance(value, str) else value


def _unmasked(value: SecretStr) -> SecretStr:
    """Settings that were printed and read again have lost their secrets: better said now than by a broker later."""
    if value.get_secret_value() == MASK:
        raise ValueError("is a row of asterisks: this was printed by Pointsman, and secrets are not")
    return value


Heap = Annotated[str, BeforeValidator(_heap)]
Secret = Annotated[SecretStr, AfterValidator(_unmasked)]
Trimmed = Annotated[str, StringConstraints(strip_whitespace=True)]


class Misfit(ValueError):
    """Values that are each right and do not fit together; `key`, below where this is raised, is the one to change."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Section(BaseModel):
    """Unknown keys are refused, and inputs stay out of error texts (they may be secrets)."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Topics(Section):
    prefix: str = Field("pointsman.", description="start of the name of every topic that Pointsman makes")
    replication: int = Field(1, ge=1, description="replication factor of those topics")
    changelog_partitions: int = Field(1, ge=1, le=64, description="partitions of a generation's changelogs")
    retention_hours: int = Field(168, ge=1, description="how long journal, verdicts, dead letters and views are kept")

    @field_validator("prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        if not PREFIX_RULE.fullmatch(value) or value.startswith("__"):
            raise ValueError("must be 1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-', not starting with '__'")
        return value


class Control(Section):
    topic: Trimmed = Field(
        "", description="topic that control messages are read from; default: control, after topics.prefix"
    )
    allow_topics: str = Field(".*", description="pattern (whole name) that a topic in a control message must match")

    @field_validator("allow_topics")
    @classmethod
    def _pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"must be a regular expression: {error}") from error
        return value


class SourceSettings(Section):
    topic: Trimmed = Field(description="topic to read")
    columns: dict[str, ColumnType] = Field(description="name = type: string, long, double or boolean")
    start: str = Field("earliest", description="earliest, latest, or an ISO-8601 timestamp (UTC unless it says)")

    @field_validator("columns")
    @classmethod
    def _columns(cls, value: dict[str, ColumnType]) -> dict[str, ColumnType]:
        for name in value:
            if not NAME_RULE.fullmatch(name):
                raise ValueError(f"column '{name}' must be a letter, then letters, digits and '_'")
        return value

    @field_validator("start", mode="before")
    @classmethod
    def _start(cls, value: Any) -> str:
        text = value.isoformat() if isinstance(value, date) else str(value).strip()
        if text not in ("earliest", "latest"):
            try:
                valid = _milliseconds(text) >= 0
            except ValueError:
                valid = False
            if not valid:
                raise ValueError("must be earliest, latest or an ISO-8601 timestamp such as 2026-01-31T08:00:00Z")
        return text

    @property
    def start_position(self) -> str | int:
        """`earliest`, `latest` or milliseconds since the epoch."""
        return self.start if self.start in ("earliest", "latest") else _milliseconds(self.start)


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class Join(Section):
    type: Annotated[JoinType, BeforeValidator(_join)] = Field(JoinType.LEFT, description="how the sources are joined")
    key: str = Field("userId", description="column that every source has and that joins them: a string or a long")
    left: str = Field("users", description="name of the left source; the others follow in the order given")
    asof_history: int = Field(64, ge=1, le=10_000, description="as-of: newest records kept per key and source")


class Pipeline(Section):
    mode: Literal["real-time", "micro-batch"] = Field(
        "real-time", description="how queries run; micro-batch is for clusters with few slots"
    )
    checkpoint_interval_seconds: float = Field(300, ge=5, description="real-time: time between two checkpoints")
    microbatch_interval_ms: int = Field(200, ge=0, description="micro-batch: time between two batches")
    shuffle_partitions: int = Field(2, ge=1, description="partitions of the join's state")
    shuffle_wait_ms: int = Field(
        0, ge=0, le=1000, description="real-time: longest wait before a shuffle buffer is sent; 0: from tasks and cores"
    )
    checkpoints: str = Field("", description="folder or URL for checkpoints; default: checkpoints in home")
    # A row of three sources with such values is as large as brokers take requests, 100 MiB.
    max_value_bytes: int = Field(1_048_576, ge=1, le=2**24, description="a larger record value becomes a dead letter")


class Spark(Section):
    master: str = Field("", description="Spark master; default local[n], with n generous")
    driver_memory: Heap = Field("2g", description="heap of the Spark driver")
    conf: dict[str, str] = Field(default_factory=dict, description="further spark.* settings")

    @field_validator("conf", mode="before")
    @classmethod
    def _conf(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        flat = dict(flattened(value))
        for name in flat:
            if not name.startswith("spark."):
                raise ValueError(f"'{name}' must start with 'spark.'")
            if SECRET_CONF.search(name):
                raise ValueError(f"'{name}' is a secret: put it into a spark-defaults.conf that only we can read")
        return flat


def flattened(value: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Unquoted, `spark.ui.enabled = false` is three tables in TOML; Spark and Kafka know one name and a text."""
    found: list[tuple[str, str]] = []
    for name, item in value.items():
        if isinstance(item, Mapping):
            found += flattened(item, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", str(item).lower() if isinstance(item, bool) else str(item)))
    return found


class Cutover(Section):
    linger_seconds: float = Field(60, ge=0, description="how long a replaced generation stays, for a rollback")
    max_lingering: int = Field(2, ge=0, description="how many replaced generations may linger at once")
    build_deadline_seconds: float = Field(600, gt=0, description="a build that takes longer fails")


class Tables(Section):
    host: str = Field("127.0.0.1", description="address the tables server is bound to")
    port: int = Field(10000, ge=1, le=65535, description="port of the tables server")
    key: Secret = Field(SecretStr(""), description="access key of viewers; generated and shown once when empty")
    cycle_ms: int = Field(20, ge=5, le=1000, description="update cycle")
    heap: Heap = Field("2g", description="heap of the tables server")
    keep_rows: int = Field(1_000_000, ge=1, description="newest rows that source views keep")
    console: bool = Field(False, description="let viewers run code on the server: for development only")
    tls_certificate: str = Field("", description="PEM file with the certificate chain; with it, viewers come by https")
    tls_key: str = Field("", description="PEM file with the private key of that certificate")
    tls_ca: str = Field("", description="PEM file of the authority behind it, for the doctor; default: the system's")

    @property
    def scheme(self) -> str:
        return "https" if self.tls_certificate else "http"


class Web(Section):
    host: str = Field("127.0.0.1", description="address the page is bound to")
    port: int = Field(8080, ge=1, le=65535, description="port of the page")
    operator_key: Secret = Field(
        SecretStr(""), description="key that POST /api/control asks for; generated and shown once when empty"
    )
    tables_url: str = Field(
        "", description="address browsers reach the tables server at; default http(s)://127.0.0.1:<tables.port>"
    )
    hosts: str = Field("", description="further names that browsers reach the page by, separated by commas")
    embed_in: str = Field("", description="origins, separated by blanks, whose pages may frame /embed/<table>")
    control_wait_seconds: float = Field(
        10, ge=0, le=60, description="how long POST /api/control waits for the verdict before it answers 202"
    )
    tls_certificate: str = Field("", description="PEM file with the certificate chain; with it, the page is https")
    tls_key: str = Field("", description="PEM file with the private key of that certificate")

    @property
    def scheme(self) -> str:
        return "https" if self.tls_certificate else "http"
