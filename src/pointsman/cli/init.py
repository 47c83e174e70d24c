"""`pointsman init`: a pointsman.toml to begin with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pointsman.domain.spec import ColumnType

SAMPLE = 200  # newest records of each partition


def add_to(app: typer.Typer) -> None:
    app.command("init")(run)


def run(
    file: Annotated[Path, typer.Argument(help="the file to write")] = Path("pointsman.toml"),
    from_topic: Annotated[
        list[str] | None,
        typer.Option(
            "--from-topic", help="TOPIC or SOURCE=TOPIC: columns as its records have them; repeat for each source"
        ),
    ] = None,
    broker: Annotated[str | None, typer.Option("--broker", help="HOST:PORT[,HOST:PORT…] of the brokers")] = None,
    force: Annotated[bool, typer.Option("--force", help="write over a file that is there")] = False,
) -> None:
    """Write a commented pointsman.toml with every setting in it. Asks nothing."""
    from pointsman.domain.errors import EnvironmentProblem
    from pointsman.settings.load import DEFAULT_SOURCES
    from pointsman.settings.template import template

    if file.exists() and not force:
        raise EnvironmentProblem(f"{file} is there already", "name another file, or write over it with --force")
    sources: dict[str, dict[str, Any]] = DEFAULT_SOURCES
    notes: dict[str, list[str]] = {}
    given: dict[str, Any] = {"kafka.bootstrap_servers": broker}
    if from_topic:
        sources, notes = _inferred(dict(_named(word) for word in from_topic), broker)
        given |= _join(sources)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(template(sources, notes, {k: v for k, v in given.items() if v is not None}), encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{file} cannot be written: {error.strerror}", "name another file") from error
    typer.echo(f"wrote {file}; next: look it over, then run `pointsman doctor`", err=True)


def _named(word: str) -> tuple[str, str]:
    """A source is called like its topic, as far as a name may be."""
    name, equals, topic = word.partition("=")
    if equals:
        return name, topic
    name = re.sub(r"\W+", "_", word, flags=re.ASCII).strip("_")
    return (name if name[:1].isalpha() else f"s_{name}"), word


def _inferred(topics: dict[str, str], broker: str | None) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """The sources that these topics make, beside the built-in one if only its twin is named; and notes on each."""
    from pointsman import settings
    from pointsman.broker import reach
    from pointsman.broker.source_check import newest_values
    from pointsman.broker.topics import TopicAdmin
    from pointsman.domain.errors import BrokerError
    from pointsman.domain.inference import infer
    from pointsman.settings.load import DEFAULT_SOURCES

    loaded = settings.load(flags={"kafka": {"bootstrap_servers": broker}})
    reach.require(loaded)
    admin = TopicAdmin(loaded)
    sources: dict[str, dict[str, Any]] = {}
    notes: dict[str, list[str]] = {}
    for name, topic in topics.items():
        found = infer(newest_values(loaded, admin, topic, SAMPLE))
        if not found.columns:
            raise BrokerError(
                f"topic '{topic}' has no record that is a JSON object, so there is nothing to go by",
                "name a topic with records, or write its columns yourself",
            )
        sources[name] = {"topic": topic, "columns": found.columns}
        notes[name] = [f"columns as the newest {found.records} records have them"]
        notes[name] += [f"left out: {field!r}, which {why}" for field, why in found.left_out.items()]
    if len(sources) == 1 and set(sources) <= set(DEFAULT_SOURCES):
        sources = {name: sources.get(name, values) for name, values in DEFAULT_SOURCES.items()}
    if len(sources) < 2:
        raise typer.BadParameter("a join needs two sources: name another topic", param_hint="--from-topic")
    return sources, notes


def _join(sources: dict[str, dict[str, Any]]) -> dict[str, str]:
    from pointsman.domain.errors import PipelineError
    from pointsman.domain.inference import common_key

    columns: dict[str, dict[str, ColumnType]] = {name: dict(source["columns"]) for name, source in sources.items()}
    key = common_key(columns, "userId")
    if key is None:
        raise PipelineError(
            f"no column is in all of {', '.join(sources)} as a string or a long, so there is nothing to join them by",
            "choose topics that share a key, or write the file yourself",
        )
    return {"join.key": key, "join.left": next(iter(sources))}
