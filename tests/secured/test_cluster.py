"""Executors of their own find the secrets that Spark's options only name; nobody else sees them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.pipeline.oracle import final_rows
from tests.pipeline.standalone import standalone
from tests.secured.broker import PASSWORDS, SecuredBroker, settings_for
from tests.secured.canary import Search
from tests.secured.line import KEY_PASSWORD, OPERATOR_KEY, VIEWER_KEY, SecuredLine
from tests.secured.test_line import live
from tests.tables.stage import becomes

pytestmark = [pytest.mark.broker, pytest.mark.spark]
Unique = Callable[[str], str]


def page(address: str) -> bytes:
    with urlopen(address, timeout=20) as answer:
        return bytes(answer.read())


def test_on_a_cluster_sources_are_read_by_tokens_and_no_secret_is_seen(
    secured: SecuredBroker, unique: Unique, tmp_path: Path
) -> None:
    users = ("oauth", "plain", "scram")
    folder = tmp_path / "home"
    folder.mkdir()
    search = Search([*PASSWORDS.values(), KEY_PASSWORD, VIEWER_KEY, OPERATOR_KEY])
    line = SecuredLine(secured, settings_for(secured.login(users[0]), unique), folder, users)
    line.feed(3)
    with standalone(tmp_path) as cluster:
        line.variables |= {"POINTSMAN_SPARK__MASTER": cluster.master}
        line.variables |= {"POINTSMAN_SPARK__CONF__spark_executorEnv_PLANTED": "planted-in-the-environment"}
        try:
            pipeline = line.start("pipeline", line.pipeline_logins)
            generation = live(line, 1)
            line.feed(4)
            becomes(lambda: line.bench.final(generation), final_rows(line.bench.records(), generation.spec))
            assert search.in_processes() == []
            shown = [page(f"{address}/json/") for address in cluster.pages]
            executors = [executor for said in shown[1:] for executor in json.loads(said)["executors"]]
            assert len(executors) == 2
            for executor in executors:  # pages do show an environment: that no secret is on them says something
                assert "planted-in-the-environment" in json.dumps(executor)
            shown += [page(address) for address in cluster.pages]
            assert not any(search.hits(said) for said in shown)
            assert pipeline.stop() == 0
        finally:
            line.close()
    logs = [path for path in tmp_path.glob("work*/app-*/*/stderr") if path.stat().st_size]
    assert len(logs) == 2, "no executor has written a log, so that nothing in it says nothing"
    assert any(folder.glob("app-*")), "no event log was written"
    assert search.in_folder(tmp_path) == []
