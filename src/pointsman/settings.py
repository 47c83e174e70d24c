"""Settings: flags > environment > pointsman.toml > built-in defaults, validated once into types.

`load()` is the only way in. Its errors name the key, where the value came from and what is allowed,
and never the value of a secret.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from pointsman.domain.errors import SettingsError
from pointsman.domain.names import RESERVED_SOURCE_NAMES, TopicNames
from pointsman.domain.spec import Column, ColumnType, JoinType, Source, Spec

ENV_PREFIX = "POINTSMAN_"
ENV_FILE = "POINTSMAN_CONFIG"  # names the toml file
TOML = "pointsman.toml"
TOPIC_RULE = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
NAME_RULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Section(BaseModel):
    """Unknown keys are refused, and inputs stay out of error texts (they may be secrets)."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Kafka(Section):
    bootstrap_servers: str = Field("localhost:9092", description="HOST:PORT[,HOST:PORT…] of the brokers")


class Topics(Section):
    prefix: str = Field("pointsman.", description="start of the name of every topic that Pointsman makes")
    replication: int = Field(1, ge=1, description="replication factor of those topics")
    changelog_partitions: int = Field(1, ge=1, le=64, description="partitions of a generation's changelogs")
    retention_hours: int = Field(168, ge=1, description="how long journal, verdicts, dead letters and views are kept")

    @field_validator("prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        if not TOPIC_RULE.fullmatch(value) or len(value) > 100:
            raise ValueError("must be 1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-'")
        return value


class Control(Section):
    topic: str = Field("pointsman.control", description="topic that control messages are read from")
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
    topic: str = Field(description="topic to read")
    columns: dict[str, ColumnType] = Field(description="name = type: string, long, double or boolean")
    start: str = Field("earliest", description="earliest, latest, or an ISO-8601 timestamp")

    @field_validator("topic")
    @classmethod
    def _topic(cls, value: str) -> str:
        if not TOPIC_RULE.fullmatch(value) or value.startswith("__"):
            raise ValueError(
                "must be a Kafka topic name: 1 to 249 of a-z, A-Z, 0-9, '.', '_', '-', not starting with '__'"
            )
        return value

    @field_validator("columns")
    @classmethod
    def _columns(cls, value: dict[str, ColumnType]) -> dict[str, ColumnType]:
        for name in value:
            if not NAME_RULE.fullmatch(name):
                raise ValueError(f"column '{name}' must be a letter, then letters, digits and '_'")
        return value

    @field_validator("start")
    @classmethod
    def _start(cls, value: str) -> str:
        if value not in ("earliest", "latest"):
            try:
                datetime.fromisoformat(value)
            except ValueError:
                raise ValueError(
                    "must be earliest, latest or an ISO-8601 timestamp such as 2026-01-31T08:00:00Z"
                ) from None
        return value

    @property
    def start_position(self) -> str | int:
        """`earliest`, `latest` or milliseconds since the epoch."""
        if self.start in ("earliest", "latest"):
            return self.start
        moment = datetime.fromisoformat(self.start)
        return round((moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000)


class Join(Section):
    type: JoinType = Field(JoinType.LEFT, description="left, inner, natural, right, full or asof")
    key: str = Field("userId", description="column that every source has and that joins them")
    left: str = Field("users", description="name of the left source; the others follow in the order given")
    asof_history: int = Field(64, ge=1, le=10_000, description="as-of: newest records kept per key and source")


class Pipeline(Section):
    mode: Literal["real-time", "micro-batch"] = Field(
        "real-time", description="real-time, or micro-batch for clusters with few slots"
    )
    checkpoint_interval_seconds: float = Field(300, ge=5, description="real-time: time between two checkpoints")
    microbatch_interval_ms: int = Field(200, ge=0, description="micro-batch: time between two batches")
    shuffle_partitions: int = Field(2, ge=1, description="partitions of the join's state")
    shuffle_wait_ms: int = Field(
        0, ge=0, le=1000, description="real-time: longest wait before a shuffle buffer is sent; 0: from tasks and cores"
    )
    checkpoints: str = Field("", description="folder or URL for checkpoints; default: checkpoints in home")
    max_value_bytes: int = Field(1_048_576, ge=1, description="a larger record value becomes a dead letter")


class Spark(Section):
    master: str = Field("", description="Spark master; default local[n], with n generous")
    driver_memory: str = Field("2g", description="heap of the Spark driver")
    conf: dict[str, str] = Field(default_factory=dict, description="further spark.* settings, passed through")

    @field_validator("conf")
    @classmethod
    def _conf(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not name.startswith("spark."):
                raise ValueError(f"'{name}' must start with 'spark.'")
        return value


class Cutover(Section):
    linger_seconds: float = Field(60, ge=0, description="how long a replaced generation stays, for a rollback")
    max_lingering: int = Field(2, ge=0, description="how many replaced generations may linger at once")
    build_deadline_seconds: float = Field(600, gt=0, description="a build that takes longer fails")


class Tables(Section):
    host: str = Field("127.0.0.1", description="address the tables server is bound to")
    port: int = Field(10000, ge=1, le=65535, description="port of the tables server")
    key: SecretStr = Field(SecretStr(""), description="access key of viewers; generated and shown once when empty")
    cycle_ms: int = Field(25, ge=5, le=1000, description="update cycle")
    heap: str = Field("2g", description="heap of the tables server")
    keep_rows: int = Field(1_000_000, ge=1, description="newest rows that source views keep")
    console: bool = Field(False, description="let viewers run code on the server: for development only")


class Web(Section):
    host: str = Field("127.0.0.1", description="address the page is bound to")
    port: int = Field(8080, ge=1, le=65535, description="port of the page")
    operator_key: SecretStr = Field(
        SecretStr(""), description="key that POST /api/control asks for; generated and shown once when empty"
    )
    tables_url: str = Field(
        "", description="address browsers reach the tables server at; default http://127.0.0.1:<tables.port>"
    )
    hosts: str = Field("", description="further names that browsers reach the page by, separated by commas")
    embed_in: str = Field("", description="origins, separated by blanks, whose pages may frame /embed/<table>")
    control_wait_seconds: float = Field(
        10, ge=0, le=60, description="how long POST /api/control waits for the verdict before it answers 202"
    )


DEFAULT_SOURCES: dict[str, dict[str, Any]] = {
    "users": {
        "topic": "users",
        "columns": {"userId": "string", "name": "string", "email": "string", "age": "long"},
    },
    "accounts": {
        "topic": "accounts",
        "columns": {"userId": "string", "accountType": "string", "balance": "double"},
    },
}


class Settings(Section):
    home: Path = Field(
        Path(".pointsman"),
        description="folder for checkpoints, the embedded broker's data and generated keys",
    )
    kafka: Kafka = Kafka()
    topics: Topics = Topics()
    control: Control = Control()
    sources: dict[str, SourceSettings] = Field(description="the topics to join, by name")
    join: Join = Join()
    pipeline: Pipeline = Pipeline()
    spark: Spark = Spark()
    cutover: Cutover = Cutover()
    tables: Tables = Tables()
    web: Web = Web()

    @model_validator(mode="after")
    def _sources(self) -> Settings:
        if len(self.sources) < 2:
            raise ValueError("sources: at least two are needed")
        if self.join.left not in self.sources:
            raise ValueError(f"join.left: '{self.join.left}' is not a source; there are {', '.join(self.sources)}")
        for name, source in self.sources.items():
            if not NAME_RULE.fullmatch(name) or name in RESERVED_SOURCE_NAMES:
                raise ValueError(
                    f"sources.{name}: a source's name is a letter, then letters, digits and '_', "
                    f"and none of {', '.join(sorted(RESERVED_SOURCE_NAMES))}"
                )
            if source.topic.startswith(self.topics.prefix):
                raise ValueError(
                    f"sources.{name}.topic: '{source.topic}' starts with our own prefix '{self.topics.prefix}'"
                )
            if self.join.key not in source.columns:
                raise ValueError(f"sources.{name}.columns: the join key '{self.join.key}' is missing")
        self.spec()
        return self

    @property
    def names(self) -> TopicNames:
        return TopicNames(self.topics.prefix)

    @property
    def checkpoints(self) -> str:
        return self.pipeline.checkpoints or str((self.home / "checkpoints").absolute())

    def spec(self) -> Spec:
        """What the settings want, before any control message."""

        def columns(source: SourceSettings) -> tuple[Column, ...]:
            key = Column(self.join.key, source.columns[self.join.key])
            return (key, *(Column(n, t) for n, t in source.columns.items() if n != self.join.key))

        order = [self.join.left, *(name for name in self.sources if name != self.join.left)]
        sources = tuple(
            Source(name, self.sources[name].topic, columns(self.sources[name]), self.sources[name].start_position)
            for name in order
        )
        return Spec(sources, self.join.key, self.join.type, self.join.asof_history)


def load(
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    toml: Path | None = None,
) -> Settings:
    """Settings from all four places. `flags` is nested like the toml file."""
    env = os.environ if env is None else env
    named = toml or (Path(env[ENV_FILE]) if env.get(ENV_FILE) else None)
    path = named or Path(TOML)
    origins: dict[str, str] = {}
    merged: dict[str, Any] = {}
    _merge(merged, {"sources": DEFAULT_SOURCES}, "the built-in default", origins)
    if path.is_file():
        file_values = _read_toml(path)
        if "sources" in file_values:
            # A file that names sources names all of them; the built-in pair serves only where it names none.
            for name in set(merged["sources"]) - set(file_values["sources"]):
                del merged["sources"][name]
            for name in set(merged["sources"]) & set(file_values["sources"]):
                if "columns" in file_values["sources"][name]:
                    del merged["sources"][name]["columns"]
        _merge(merged, file_values, str(path), origins)
    elif named:
        raise SettingsError(f"the settings file {path} does not exist", "check the path, or leave it out")
    _merge_env(merged, env, origins)
    if flags:
        _merge(merged, flags, "a command-line flag", origins)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise SettingsError(_explain(error, origins), "see docs/reference/settings.md for every key") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(f"{path} cannot be read: {error}", f"mend {path}") from error


def _merge(into: dict[str, Any], values: Mapping[str, Any], origin: str, origins: dict[str, str], at: str = "") -> None:
    for name, value in values.items():
        key = f"{at}{name}"
        if isinstance(value, Mapping):
            child = into.setdefault(name, {})
            if not isinstance(child, dict):
                child = into[name] = {}
            origins.setdefault(key, origin)
            _merge(child, value, origin, origins, f"{key}.")
        elif value is not None:
            into[name] = value
            origins[key] = origin


def _merge_env(into: dict[str, Any], env: Mapping[str, str], origins: dict[str, str]) -> None:
    for variable, value in env.items():
        if not variable.startswith(ENV_PREFIX) or variable == ENV_FILE:
            continue
        path = variable.removeprefix(ENV_PREFIX).split("__")
        node, names = into, list[str]()
        for position, part in enumerate(path):
            name = _spelling(node, part, names)
            names.append(name)
            if position == len(path) - 1:
                node[name] = value
            else:
                child = node.setdefault(name, {})
                if not isinstance(child, dict):
                    raise SettingsError(f"{variable}: '{'.'.join(names)}' is a value, not a group of settings")
                node = child
        origins[".".join(names)] = f"the variable {variable}"


def _spelling(node: Mapping[str, Any], part: str, above: list[str]) -> str:
    """Variables are upper case; names of sources and columns keep the case they were given elsewhere."""
    known = {name.lower(): name for name in node}
    if above == ["spark", "conf"]:
        return part.lower().replace("_", ".")
    return known.get(part.lower(), part.lower())


def _explain(error: ValidationError, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in problem["loc"] if part != "[key]")
        origin = _origin(key, origins)
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = f"is not a setting{_known_keys(key)}"
        lines.append(f"{key}: {message} (from {origin})" if key else message)
    return "\n".join(lines)


def _origin(key: str, origins: Mapping[str, str]) -> str:
    """Where the value came from: the key itself, what stands below it, or the nearest group above it."""
    parts = key.split(".")
    above = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    below = [k for k in origins if k.startswith(f"{key}.")]
    return next((origins[k] for k in [*above[:1], *below, *above[1:]] if k in origins), "the settings")


def _known_keys(key: str) -> str:
    model: type[BaseModel] = Settings
    for part in key.split(".")[:-1]:
        if part not in model.model_fields:
            return f"; allowed are {', '.join(SourceSettings.model_fields)}"
        kind = model.model_fields[part].annotation
        model = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else model
    return f"; allowed are {', '.join(model.model_fields)}"
