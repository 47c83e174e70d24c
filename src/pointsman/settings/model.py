"""All settings together, and what makes them fit one another."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator, model_validator

from pointsman.domain import control
from pointsman.domain.names import RESERVED_SOURCE_NAMES, TopicNames
from pointsman.domain.spec import Column, ColumnType, JoinType, Source, Spec
from pointsman.settings.kafka import Connection, Kafka
from pointsman.settings.sections import (
    NAME_RULE,
    Control,
    Cutover,
    Join,
    Misfit,
    Pipeline,
    Section,
    SourceSettings,
    Spark,
    Tables,
    Topics,
    Web,
)

TABLE_COLUMNS = {"eventtime", "generation"}  # the live tables add these to every row


class Settings(Section):
    home: Path = Field(
        Path(".pointsman"), description="folder for checkpoints, the embedded broker's data and generated keys"
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

    @field_validator("home")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return value.expanduser()

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        self._check_sources()
        for name, source in self.sources.items():
            self._check_source(name, source)
        try:
            self.spec()
        except ValueError as error:
            raise Misfit("sources", str(error)) from error
        if not self.control.topic:
            followed = self.control.model_copy(update={"topic": f"{self.topics.prefix}control"})
            object.__setattr__(self, "control", followed)  # frozen for everybody else
        self._check_control()
        self._check_tls()
        return self

    def _check_sources(self) -> None:
        if len(self.sources) < 2:
            raise Misfit(
                "sources", f"at least two are needed, and there is only {', '.join(self.sources) or 'none'}: name all"
            )
        if self.join.left not in self.sources:
            raise Misfit("join.left", f"'{self.join.left}' is not a source; there are {', '.join(self.sources)}")
        if self.join.type is JoinType.ASOF and self.pipeline.mode == "micro-batch":
            raise Misfit("join.type", "asof needs pipeline.mode real-time")

    def _check_source(self, name: str, source: SourceSettings) -> None:
        at = f"sources.{name}"
        if not NAME_RULE.fullmatch(name) or name in RESERVED_SOURCE_NAMES:
            reserved = ", ".join(sorted(RESERVED_SOURCE_NAMES))
            raise Misfit(
                at, f"a source's name is a letter, then letters, digits and '_', and none of our own names: {reserved}"
            )
        problem = control.topic_problem(source.topic, control.Rules((name,), self.topics.prefix))
        if problem:
            raise Misfit(f"{at}.topic", problem)
        for column in source.columns:
            if column.casefold() in TABLE_COLUMNS:
                raise Misfit(f"{at}.columns.{column}", "the tables have a column of that name themselves; leave it out")
        key = source.columns.get(self.join.key)
        if key is None:
            raise Misfit(f"{at}.columns", f"the join key '{self.join.key}' (join.key) must be one of them")
        if key not in (ColumnType.STRING, ColumnType.LONG):
            raise Misfit(f"{at}.columns.{self.join.key}", "the join key (join.key) must be a string or a long")
        first = next(iter(self.sources))
        if key is not self.sources[first].columns.get(self.join.key):
            raise Misfit(
                f"{at}.columns.{self.join.key}", f"the join key must have the same type as in sources.{first}.columns"
            )

    def _check_tls(self) -> None:
        for at, section in (("tables", self.tables), ("web", self.web)):
            given = {name for name in ("tls_certificate", "tls_key") if getattr(section, name)}
            if len(given) == 1:
                missing = "tls_key" if "tls_certificate" in given else "tls_certificate"
                raise Misfit(
                    f"{at}.{given.pop()}", f"{at}.{missing} is missing: a certificate and its key come together"
                )

    def _check_control(self) -> None:
        topic = self.control.topic
        problem = control.topic_problem(topic, control.Rules((), own_prefix="__"))
        if problem:
            raise Misfit("control.topic", problem)
        fixed = {f"{self.topics.prefix}{name}" for name in RESERVED_SOURCE_NAMES - {"control"}}
        if topic in fixed or self.names.generation_of(topic) is not None:
            raise Misfit("control.topic", f"'{topic}' is a topic that Pointsman writes; choose another")
        if topic in {source.topic for source in self.sources.values()}:
            raise Misfit("control.topic", f"'{topic}' is a source's topic; control messages need one of their own")

    @property
    def names(self) -> TopicNames:
        return TopicNames(self.topics.prefix)

    @property
    def own_cluster(self) -> Connection:
        """Where our own topics are."""
        return self.kafka.internal or self.kafka

    @property
    def control_cluster(self) -> Connection:
        """Where the control topic is: with our own topics, unless it is said to be elsewhere."""
        return self.kafka.control or self.own_cluster

    def cluster_of(self, topic: str) -> Connection:
        """Where a topic is, by its name: no source's topic starts with our prefix."""
        if topic == self.control.topic:
            return self.control_cluster
        return self.own_cluster if topic.startswith(self.topics.prefix) else self.kafka

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
