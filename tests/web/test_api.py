"""What the API promises, on a real broker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pointsman.broker.tail import Tail
from pointsman.domain.catalog import Catalog
from pointsman.domain.generation import Generation, State
from pointsman.domain.journal import Code
from pointsman.web.security import FAILURE_SECONDS, MOST_FAILURES
from tests.web.conftest import BEARER, KEY, Stage

pytestmark = pytest.mark.broker


def live_catalog(stage: Stage) -> Catalog:
    spec, names = stage.settings.spec(), stage.settings.names
    views = {s.name: names.view(1, s.name) for s in spec.sources}
    live = Generation(1, State.LIVE, spec, views, names.final(1), "checkpoint")
    return Catalog(live=1, base=spec).put(live)


@contextmanager
def orchestrator(stage: Stage, verdict: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Answers every control message with this verdict, and remembers the messages."""
    seen: list[dict[str, Any]] = []
    ended = threading.Event()
    topic = stage.settings.control.topic

    def answer() -> None:
        with Tail(stage.settings.kafka, {topic: {0: 0}}) as tail:
            while not ended.is_set():
                for _, partition, offset, _, value in tail.poll(0.1):
                    message = json.loads(value or b"{}")
                    seen.append(message)
                    full = {"partition": partition, "offset": offset, "requestId": message["requestId"], **verdict}
                    stage.write(stage.settings.names.verdicts, full, f"{partition}-{offset}")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def test_status_is_null_before_anything_was_reported_and_then_the_newest(stage: Stage) -> None:
    assert stage.client.get("/api/status").json()["status"] is None
    stage.status(lag=7)
    newest = stage.status(lag=8)
    assert stage.until("/api/status", lambda a: (a["status"] or {}).get("lag") == 8)["status"] == newest


def test_history_holds_the_last_fifteen_minutes_oldest_first(stage: Stage) -> None:
    now = time.time()
    for age in (1000, 899, 10, 0):
        stage.status(at=now - age, rate=float(age))
    history = stage.until("/api/history", lambda a: bool(a["history"]) and a["history"][-1]["rate"] == 0)["history"]
    assert [point["rate"] for point in history] == [899, 10, 0]


def test_topics_are_those_that_a_message_may_name_with_partitions_and_records(stage: Stage) -> None:
    users = stage.settings.sources["users"].topic
    for _ in range(3):
        stage.write(users, {"userId": "u1"})
    topics = {t["name"]: t for t in stage.client.get("/api/topics").json()["topics"]}
    assert topics[users] == {"name": users, "partitions": 2, "records": 3}
    assert not [name for name in topics if name.startswith((stage.settings.topics.prefix, "__"))]
    assert stage.settings.control.topic not in topics


def test_generations_are_the_catalogs(stage: Stage) -> None:
    stage.write(stage.settings.names.catalog, live_catalog(stage).to_bytes(), "catalog")
    answer = stage.until("/api/generations", lambda a: a["live"] == 1)
    assert [(g["number"], g["state"]) for g in answer["generations"]] == [(1, "LIVE")]


def test_a_catalog_of_another_version_is_said_and_not_fatal(stage: Stage) -> None:
    stage.write(stage.settings.names.catalog, b'{"format": 99}', "catalog")
    assert "format 99" in stage.until("/api/generations", lambda a: "error" in a)["error"]
    assert stage.client.get("/api/status").status_code == 200


def test_without_the_operator_key_nothing_is_sent(stage: Stage) -> None:
    wrong = [{}, {"Authorization": "Bearer wrong"}, {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"}]
    with orchestrator(stage, {"verdict": "applied"}) as seen:
        for path in ("/api/control", "/api/plan"):
            for header in wrong:
                answer = stage.client.post(path, json={"joinType": "inner"}, headers=header)
                assert answer.status_code == 401
                assert KEY not in answer.text
    assert seen == []


def test_after_too_many_wrong_keys_the_right_one_is_not_heard_either(stage: Stage) -> None:
    for _ in range(MOST_FAILURES):
        assert stage.client.post("/api/plan", json={}).status_code == 401
        assert stage.client.post("/api/plan", json={}, headers={"Authorization": "Bearer no"}).status_code == 401
    answer = stage.client.post("/api/plan", json={}, headers=BEARER)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= FAILURE_SECONDS


def test_control_answers_with_the_verdict(stage: Stage) -> None:
    verdict = {"verdict": "applied", "reason": "generation 2 is live", "generation": 2, "durationMs": 5}
    with orchestrator(stage, verdict) as seen:
        answer = stage.client.post("/api/control", json={"joinType": "inner"}, headers=BEARER)
    assert (answer.status_code, answer.json()["reason"]) == (200, "generation 2 is live")
    assert [message["joinType"] for message in seen] == ["inner"]
    assert answer.json()["requestId"] == seen[0]["requestId"]


def test_control_without_a_verdict_in_time_says_where_to_look(stage: Stage) -> None:
    answer = stage.client.post("/api/control", json={"rollback": True, "requestId": "mine"}, headers=BEARER)
    assert (answer.status_code, answer.json()["look"]) == (202, "/api/verdicts?requestId=mine")
    stage.write(stage.settings.names.verdicts, {"verdict": "refused", "requestId": "mine"}, "0-0")
    found = stage.until(answer.json()["look"], lambda a: bool(a["verdicts"]))
    assert [v["verdict"] for v in found["verdicts"]] == ["refused"]


def test_a_body_that_is_no_small_json_object_is_refused(stage: Stage) -> None:
    bodies = [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 60_000, "application/json", 400),
        (b'{"a": "' + b"x" * 70_000 + b'"}', "application/json", 413),
        (b"{}", "text/plain", 415),
    ]
    for body, kind, code in bodies:
        answer = stage.client.post("/api/control", content=body, headers={**BEARER, "Content-Type": kind})
        assert (answer.status_code, list(answer.json())) == (code, ["error"])


def test_a_plan_lists_the_steps_and_sends_nothing(stage: Stage) -> None:
    stage.write(stage.settings.names.catalog, live_catalog(stage).to_bytes(), "catalog")
    stage.until("/api/generations", lambda a: a["live"] == 1)
    with orchestrator(stage, {"verdict": "applied"}) as seen:
        plan = stage.client.post("/api/plan", json={"joinType": "inner"}, headers=BEARER).json()
    assert plan["outcome"] == "applied"
    assert any("publish generation 2 in one write" in step for step in plan["steps"])
    assert seen == []


def test_a_plan_says_what_would_be_refused_and_why(stage: Stage) -> None:
    missing = stage.settings.sources["users"].topic + "x"
    plan = stage.client.post("/api/plan", json={"usersTopic": missing}, headers=BEARER).json()
    assert (plan["outcome"], plan["steps"]) == ("refused", [])
    assert f"topic '{missing}' does not exist; did you mean" in plan["reason"]
    assert plan["checks"][0]["ok"] is False
    unknown = stage.client.post("/api/plan", json={"joinType": "cross"}, headers=BEARER).json()
    assert "not a join type" in unknown["reason"]


def test_ready_means_a_serving_generation_and_a_fresh_heartbeat(stage: Stage) -> None:
    assert stage.client.get("/livez").status_code == 200
    assert stage.client.get("/readyz").status_code == 503
    stage.status(lastError="a build failed")
    stage.until("/readyz", lambda a: a["ready"])
    stage.status(state="FAILED")
    assert stage.until("/readyz", lambda a: not a["ready"])["reason"] == "the system is FAILED"
    stage.status(at=time.time() - 60)
    assert "heartbeat" in stage.until("/readyz", lambda a: "heartbeat" in a["reason"])["reason"]


def test_metrics_tell_state_lag_and_counts(stage: Stage) -> None:
    names = stage.settings.names
    count = {"generation": 1, "source": "users", "topic": "u", "partition": 0, "read": 9, "joined": 8, "deadLetters": 1}
    stage.write(names.counts, count, "g1-u-0")
    stage.write(names.counts, count | {"partition": 1}, "g1-u-1")
    stage.write(names.tables, {"server": "a", "at": time.time(), "loaded": [1], "shows": 1, "viewers": 3}, "a")
    stage.write(names.tables, {"server": "b", "at": time.time() - 60, "loaded": [1], "shows": 1, "viewers": 2}, "b")
    stage.write(names.catalog, live_catalog(stage).to_bytes(), "catalog")
    stage.status(lag=42, lags={"users": 40, "accounts": 2})
    stage.until("/api/status", lambda a: a["status"] is not None and len(a["servers"]) == 2)
    stage.until("/api/generations", lambda a: a["live"] == 1)
    text = stage.client.get("/metrics").text
    for line in (
        'pointsman_state{state="SERVING"} 1.0',
        'pointsman_source_lag_records{source="users"} 40.0',
        "pointsman_tables_servers 1.0",
        'pointsman_viewers{server="a"} 3.0',
        'pointsman_generations{state="LIVE"} 1.0',
        'pointsman_generation_info{generation="1",join="left",state="LIVE",topics="',
        'pointsman_records_total{generation="1",kind="read",source="users",topic="u"} 18.0',
    ):
        assert line in text
    assert 'pointsman_viewers{server="b"}' not in text


def test_metrics_count_verdicts_switches_and_dead_letters_once_each(stage: Stage) -> None:
    names = stage.settings.names
    for verdict in ("applied", "refused", "refused"):
        stage.write(names.verdicts, {"verdict": verdict}, "0-1")
    for code, at in ((Code.BUILDING, 10.0), (Code.READY, 13.0), (Code.PUBLISHED, 13.5)):
        stage.write(names.journal, {"code": code.value, "generation": 1, "ts": at, "level": "INFO", "msg": ""})
    stage.write(names.journal, b"not ours")
    for reason in ("not-json", "not-json", "wrong-type"):
        stage.write(names.dead_letters, {"reason": reason}, "u-0-1")
    deadline = time.monotonic() + 15
    expected = (
        'pointsman_control_messages_total{verdict="applied"} 1.0',
        'pointsman_control_messages_total{verdict="refused"} 2.0',
        'pointsman_control_messages_total{verdict="failed"} 0.0',
        'pointsman_switches_total{result="published"} 1.0',
        'pointsman_switch_phase_seconds_bucket{le="2.0",phase="build"} 0.0',
        'pointsman_switch_phase_seconds_bucket{le="5.0",phase="build"} 1.0',
        'pointsman_switch_phase_seconds_sum{phase="whole"} 3.5',
        'pointsman_dead_letters_total{reason="not-json"} 2.0',
        'pointsman_dead_letters_total{reason="wrong-type"} 1.0',
    )
    while missing := [line for line in expected if line not in stage.client.get("/metrics").text]:
        assert time.monotonic() < deadline, missing
        time.sleep(0.05)


def test_records_of_other_programs_on_our_topics_are_passed_over(stage: Stage) -> None:
    names = stage.settings.names
    for topic in (names.status, names.verdicts, names.counts, names.tables):
        stage.write(topic, b"\xff not json", "x")
        stage.write(topic, b"[1]", "x")
    stage.status(lag=3)
    assert stage.until("/api/status", lambda a: a["status"] is not None)["status"]["lag"] == 3
