"""The whole line on a broker as a bank runs it: rows joined, switched and shown, by each mechanism; no secret anywhere.

Three runs, in which every mechanism is once the one that sources are read by, once that of our own topics and once that
of the control topic: Spark reads and writes by each, the tables server reads by each, and our own client does it all.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydeephaven import Table

from pointsman.domain.generation import Generation
from tests.pipeline.oracle import final_rows
from tests.secured.broker import PASSWORDS
from tests.secured.canary import Search
from tests.secured.line import KEY_PASSWORD, OPERATOR_KEY, VIEWER_KEY, SecuredLine
from tests.tables.stage import becomes, eventually, rows, viewer

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.tables]
Rows = dict[str, dict[str, Any]]
ROTATIONS = {
    ("plain", "scram", "oauth"): ("variable", "file"),
    ("scram", "oauth", "plain"): ("file", "folder"),
    ("oauth", "plain", "scram"): ("folder", "variable"),
}
WRONG = "canaryWrong55aa"
READ = ("/", "/api/status", "/api/history", "/api/generations", "/api/topics", "/api/verdicts", "/readyz", "/metrics")


def shown(table: Table, generation: Generation) -> Rows:
    columns = [column.name for column in generation.spec.output_columns]
    return {row["userId"]: {c: row[c] for c in columns if row[c] is not None} for row in rows(table)}


def expected(line: SecuredLine, generation: Generation) -> Rows:
    """The columns of what the oracle makes of the records on the sources' topics."""
    records = [r for s in generation.spec.sources for r in line.bench._records_of(s.name, s.topic)]
    wanted = final_rows(records, generation.spec)
    return {key: {c: v for c, v in row.items() if not c.startswith("_")} for key, row in wanted.items()}


def live(line: SecuredLine, number: int) -> Generation:
    found = eventually(lambda: line.catalog().live_generation, lambda g: g is not None and g.number == number, 150)
    assert found is not None
    return found


@pytest.mark.parametrize("line", ROTATIONS, indirect=True, ids="-".join)
def test_rows_are_joined_switched_and_shown_and_no_secret_is_anywhere(
    line: SecuredLine, request: pytest.FixtureRequest
) -> None:
    search = Search([*PASSWORDS.values(), WRONG, KEY_PASSWORD, VIEWER_KEY, OPERATOR_KEY])
    ways = ROTATIONS[request.node.callspec.params["line"]]
    line.feed(1)
    tables = line.start("tables", line.tables_logins, ways[0])
    line.start("pipeline", line.pipeline_logins, ways[1])
    first = live(line, 1)
    tables.await_ready()
    web = line.start("web", line.pipeline_logins, ways[0])
    web.await_ready()
    with viewer(tables.port, VIEWER_KEY) as client:
        final, control = client.open("final_ui"), client.open("control_raw")
        becomes(lambda: shown(final, first), expected(line, first), 60)
        line.feed(2)
        becomes(lambda: shown(final, first), expected(line, first), 60)

        refused = line.switch("--users-topic", f"{line.everything.control.topic}.nothing")
        assert refused["verdict"] == "refused"
        assert line.switch("--join", "inner")["verdict"] == "applied"
        second = live(line, 2)
        becomes(lambda: shown(final, second), expected(line, second), 60)
        becomes(lambda: [json.loads(row["raw"]).get("joinType") for row in rows(control)], ["inner", None])

        places = ("POINTSMAN_KAFKA__INTERNAL__SASL__PASSWORD", "POINTSMAN_KAFKA__INTERNAL__OIDC__CLIENT_SECRET")
        wrong = line.command("status", **dict.fromkeys(places, WRONG))
        assert wrong.returncode == 1
        assert not search.hits((wrong.stdout + wrong.stderr).encode())

        nothing = {"usersTopic": f"{line.everything.control.topic}.nothing"}
        answers = [line.ask_page(path) for path in READ]
        answers += [line.ask_page(path, nothing, WRONG) for path in ("/api/plan", "/api/control")]
        assert [status for status, _ in answers[-2:]] == [401, 401]
        answers += [line.ask_page(path, nothing, OPERATOR_KEY) for path in ("/api/plan", "/api/control")]
        assert [status for status, _ in answers[-2:]] == [200, 200], answers
        assert b'"refused"' in answers[-1][1]
        assert not any(search.hits(said) for _, said in answers)

        doctor = line.command("doctor", "--bundle", "bundle.json", POINTSMAN_TABLES__PORT=str(tables.port))
        assert f"ok       tables: 127.0.0.1:{tables.port} answers" in doctor.stdout
        bundle = json.loads((line.folder / "bundle.json").read_text())
        assert bundle["topics"][line.everything.names.catalog]["catalog"]["live"] == 2
        assert not search.hits((doctor.stdout + doctor.stderr).encode())
        assert search.in_processes() == []
    assert search.in_folder(line.folder) == []
    assert any(line.folder.glob("local-*")), "no event log was written, so that nothing in it says nothing"
    topics = [name for name in line.bench.admin.existing() if name.startswith(line.everything.topics.prefix)]
    assert len(topics) > 10
    assert search.in_records(line.bench.read([*topics, line.everything.control.topic])) == []
