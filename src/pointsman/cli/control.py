"""`switch`, `rollback`, `plan`, `status`, `logs`: setting the points, and seeing how they stand."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.domain.errors import NotInTime, PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pointsman.broker.tail import Tail
    from pointsman.broker.topics import TopicAdmin
    from pointsman.domain.catalog import Catalog
    from pointsman.settings import Settings

UsersTopic = Annotated[str | None, typer.Option("--users-topic", help="topic for the source 'users'")]
AccountsTopic = Annotated[str | None, typer.Option("--accounts-topic", help="topic for the source 'accounts'")]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="SOURCE=TOPIC, for any source; may be repeated")]
Join = Annotated[str | None, typer.Option("--join", help="left, inner, natural, right, full or asof")]
Wait = Annotated[
    bool, typer.Option("--wait", help="wait for the verdict; exit code 1 unless applied or unchanged, 3 if none came")
]
Within = Annotated[float, typer.Option("--timeout", help="with --wait: seconds to wait", min=0)]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]

CLEAR = "\x1b[2J\x1b[H"
GOOD = ("applied", "unchanged")
STALE_SECONDS = 10.0
ANSWER_SECONDS = 900.0  # longer than a build may take


def add_to(app: typer.Typer) -> None:
    app.command("switch")(switch)
    app.command("rollback")(rollback)
    app.command("plan")(plan)
    app.command("status")(status)
    app.command("logs")(logs)


def switch(
    *,
    users_topic: UsersTopic = None,
    accounts_topic: AccountsTopic = None,
    topic: Topics = None,
    join: Join = None,
    wait: Wait = False,
    timeout: Within = ANSWER_SECONDS,
    as_json: Json = False,
) -> None:
    """Re-point the running system: other topics, another join. What is not named stays as it is."""
    from pointsman import settings

    loaded = settings.load()
    message = _message(loaded, users_topic, accounts_topic, topic, join)
    if not message:
        raise typer.BadParameter("name a topic or a join: --users-topic, --accounts-topic, --topic or --join")
    _send(loaded, message, wait, timeout, as_json)


def rollback(wait: Wait = False, timeout: Within = ANSWER_SECONDS, as_json: Json = False) -> None:
    """Show again what was shown before: at once while it lingers, by a rebuild afterwards."""
    from pointsman import settings

    _send(settings.load(), {"rollback": True}, wait, timeout, as_json)


def plan(
    users_topic: UsersTopic = None,
    accounts_topic: AccountsTopic = None,
    topic: Topics = None,
    join: Join = None,
    as_json: Json = False,
) -> None:
    """What a switch would do, step by step, and what validation says. Nothing is done. Exit code 1 if refused."""
    from pointsman import settings
    from pointsman.broker.newest import newest_catalog
    from pointsman.domain.catalog import Catalog
    from pointsman.web.planning import Planner

    loaded = settings.load()
    message = _message(loaded, users_topic, accounts_topic, topic, join)
    catalog = newest_catalog(loaded, _topics(loaded))
    found = Planner(loaded).plan(json.dumps(message).encode(), catalog or Catalog())
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for check in found["checks"]:
            typer.echo(f"{'ok  ' if check['ok'] else 'BAD '} {check['source']}: {check['says']}")
        if found["reason"]:
            typer.echo(f"{found['outcome']}: {found['reason']}")
        for number, step in enumerate(found["steps"], 1):
            typer.echo(f"{number:2}. {step}")
        if not found["steps"] and found["outcome"] in GOOD:
            typer.echo("nothing to do")
    if found["outcome"] not in GOOD:
        raise typer.Exit(1)


def status(
    watch: Annotated[bool, typer.Option("--watch", help="go on until Ctrl-C")] = False,
    as_json: Json = False,
) -> None:
    """What is live now, how fresh it is, and what is being built."""
    from pointsman import settings
    from pointsman.broker.newest import newest_catalog

    loaded = settings.load()
    admin = _topics(loaded)
    row = _newest_status(loaded, admin)
    if row is None:
        raise PipelineError("there is no status yet: no pipeline has run here", "start one with `pointsman up`")
    _show_status(row, newest_catalog(loaded, admin), as_json)
    try:
        while watch:
            time.sleep(1)
            row = _newest_status(loaded, admin) or row
            if not as_json:
                typer.echo(CLEAR, nl=False)
            _show_status(row, newest_catalog(loaded, admin), as_json)
    except KeyboardInterrupt:
        return


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="go on until Ctrl-C")] = False,
    last: Annotated[int, typer.Option("--last", "-n", help="entries to begin with", min=0)] = 100,
    as_json: Json = False,
) -> None:
    """What happened: the journal."""
    from collections import deque

    from pointsman import settings
    from pointsman.broker.tail import Tail

    loaded = settings.load()
    admin, topic = _topics(loaded), loaded.names.journal
    starts, ends = admin.start_offsets([topic])[topic], admin.end_offsets([topic])[topic]
    # Every entry comes with a transaction marker at most; a few more offsets than needed cost nothing.
    begin = {p: max(start, ends[p] - 2 * last - 10) for p, start in starts.items()}
    with Tail(loaded.own_cluster, {topic: begin}) as tail:
        newest = deque((value for *_, value in tail.until({topic: ends})), maxlen=last)
        for value in newest:
            _show_entry(value, as_json)
        try:
            while follow:
                for *_, value in tail.poll(0.5):
                    _show_entry(value, as_json)
        except KeyboardInterrupt:
            return


def _message(
    loaded: Settings,
    users_topic: str | None,
    accounts_topic: str | None,
    others: list[str] | None,
    join: str | None,
) -> dict[str, Any]:
    named = {"users": users_topic, "accounts": accounts_topic}
    for other in others or ():
        source, equals, name = other.partition("=")
        if not equals:
            raise typer.BadParameter(f"--topic '{other}' must be SOURCE=TOPIC")
        named[source] = name
    unknown = [source for source, name in named.items() if name is not None and source not in loaded.sources]
    if unknown:
        raise typer.BadParameter(f"there is no source '{unknown[0]}'; there are {', '.join(loaded.sources)}")
    message: dict[str, Any] = {f"{source}Topic": name for source, name in named.items() if name is not None}
    return message | ({"joinType": join} if join is not None else {})


def _send(loaded: Settings, message: Mapping[str, Any], wait: bool, timeout: float, as_json: bool) -> None:
    from pointsman.broker.tail import Tail
    from pointsman.web.sending import Sender

    admin = _topics(loaded)
    with Tail(loaded.own_cluster, admin.end_offsets([loaded.names.verdicts])) as verdicts:
        sender = Sender(loaded)
        request = sender.send(message)
        sender.close()
        if not wait:
            told = {"requestId": request, "verdict": None}
            typer.echo(json.dumps(told) if as_json else f"sent, request {request}; see `pointsman status` and `logs`")
            return
        verdict = _verdict(verdicts, request, timeout)
    if verdict is None:
        raise NotInTime(
            f"no verdict on request {request} within {timeout:g} s; the last heartbeat was "
            f"{_heard(_newest_status(loaded, admin))}",
            "look at `pointsman status` and `pointsman logs`; the message stays, and will be answered",
        )
    if as_json:
        typer.echo(json.dumps(verdict))
    else:
        typer.echo(f"{verdict['verdict']} after {verdict['durationMs'] / 1000:.1f} s: {verdict['reason']}")
    if verdict["verdict"] not in GOOD:
        raise typer.Exit(1)


def _verdict(verdicts: Tail, request: str, timeout: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        for *_, value in verdicts.poll(0.2):
            found = _object(value)
            if found is not None and found.get("requestId") == request:
                return found
    return None


def _topics(loaded: Settings) -> TopicAdmin:
    """Our fixed topics exist when this returns; says at once, and why, when no broker answers."""
    from pointsman.broker import reach
    from pointsman.broker.topics import TopicAdmin, fixed_topics

    reach.require(loaded)
    admin = TopicAdmin(loaded)
    admin.ensure(fixed_topics(loaded))
    return admin


def _newest_status(loaded: Settings, admin: TopicAdmin) -> dict[str, Any] | None:
    from pointsman.broker.newest import newest
    from pointsman.domain.status import KEY

    return _object(newest(loaded, admin, loaded.names.status, KEY))


def _object(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(value or b"")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _show_status(row: Mapping[str, Any], catalog: Catalog | None, as_json: bool) -> None:
    generations = [g.to_json() for _, g in sorted(catalog.generations.items())] if catalog else []
    if as_json:
        typer.echo(json.dumps({**row, "generations": generations}))
        return
    for name, value in row.items():
        if value not in (None, "") and name != "at":
            typer.echo(f"{name:14} {value}")
    typer.echo(f"{'heartbeat':14} {_heard(row)}")
    for g in generations:
        topics = ", ".join(s["topic"] for s in g["spec"]["sources"])
        typer.echo(f"g{g['number']:<13} {g['state']:10} {g['spec']['join']:8} {topics}  {g['reason']}".rstrip())


def _heard(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "never: no pipeline has run here"
    age = max(0.0, time.time() - row["at"])
    return f"{age:.0f} s ago" if age < STALE_SECONDS else f"{age:.0f} s ago: the pipeline does not seem to be running"


def _show_entry(value: bytes | None, as_json: bool) -> None:
    entry = _object(value)
    if entry is None or not {"ts", "level", "msg", "code"} <= set(entry):
        return  # not an entry of ours
    line = f"{_when(entry['ts'])} {entry['level']:5} {entry['msg']}  [{entry['code']}]"
    typer.echo(json.dumps(entry) if as_json else line)


def _when(at: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(at).astimezone().isoformat(sep=" ", timespec="milliseconds")
