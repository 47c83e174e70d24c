"""What is started, on which ports, with which keys, and what is said of it beforehand."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pointsman import settings
from pointsman.broker.embedded import free_port
from pointsman.domain.errors import EnvironmentProblem
from pointsman.fleet import ports
from pointsman.fleet.claims import Claims
from pointsman.fleet.keys import kept_key
from pointsman.fleet.launch import Launch, names_broker


def launch(home: Path, origins: dict[str, str] | None = None, **flags: Any) -> Launch:
    loaded = settings.load(env={}, flags={"home": str(home), **flags})
    return Launch(loaded, origins or {}, Claims(home))


@contextmanager
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


def test_a_free_port_is_used_as_it_is(tmp_path: Path) -> None:
    port = free_port()
    made = launch(tmp_path, tables={"port": port})
    made.add_tables()
    assert (made.tables_port, made.notices) == (port, [])
    assert made.roles[0].command[-3:] == ("tables", "--port", str(port))


def test_a_taken_port_that_nobody_asked_for_is_said_and_another_is_used(tmp_path: Path) -> None:
    with taken() as port:
        made = launch(tmp_path, web={"port": port})
        made.add_web()
    assert port < made.web_port <= port + ports.NEAR
    [notice] = made.notices
    assert notice.startswith(f"port {port} is taken by ")
    assert f"(process {os.getpid()})" in notice
    assert notice.endswith(f"the web uses {made.web_port} instead")
    assert made.page == f"http://127.0.0.1:{made.web_port}"


def test_a_taken_port_that_somebody_chose_is_an_error_that_says_where(tmp_path: Path) -> None:
    with taken() as port, pytest.raises(EnvironmentProblem) as failed:
        launch(tmp_path, {"web.port": "pointsman.toml"}, web={"port": port}).add_web()
    assert f"port {port} for the web (web.port, from pointsman.toml) is taken by" in str(failed.value)
    assert "web.port" in failed.value.next_step


def test_two_parts_that_want_one_port_get_two(tmp_path: Path) -> None:
    port = free_port()
    made = launch(tmp_path, web={"port": port}, tables={"port": port})
    made.add_tables()
    made.add_web()
    assert made.tables_port == port
    assert made.web_port != port


def test_the_page_is_told_the_port_that_the_tables_really_have(tmp_path: Path) -> None:
    with taken() as port:
        made = launch(tmp_path, tables={"port": port}, web={"port": free_port()})
        made.add_tables()
        made.add_web()
    assert made.roles[-1].env["POINTSMAN_TABLES__PORT"] == str(made.tables_port) != str(port)


def test_a_broker_on_another_port_is_told_to_all_and_to_other_terminals(tmp_path: Path) -> None:
    with taken() as port:
        made = launch(tmp_path, kafka={"bootstrap_servers": f"localhost:{port}"})
        made.add_broker()
        made.add_pipeline()
    servers = f"localhost:{made.broker_port}"
    assert made.variables == {"POINTSMAN_KAFKA__BOOTSTRAP_SERVERS": servers}
    assert made.roles[1].env["POINTSMAN_KAFKA__BOOTSTRAP_SERVERS"] == servers
    assert made.reached.kafka.bootstrap_servers == servers


def test_a_broker_is_brought_unless_somebody_has_said_anything_of_one() -> None:
    assert not names_broker({"sources": "the built-in defaults", "join.type": "pointsman.toml"})
    assert names_broker({"kafka": "pointsman.toml", "kafka.sasl.user": "pointsman.toml"})


@pytest.mark.broker
def test_a_broker_that_answers_already_is_used_or_left_alone(tmp_path: Path, broker: str) -> None:
    port = int(broker.rpartition(":")[2])
    shared = launch(tmp_path / "a", kafka={"bootstrap_servers": f"localhost:{port}"})
    shared.add_broker()
    assert (shared.roles, shared.broker_port) == ([], port)
    assert shared.notices == [f"a Kafka broker answers on localhost:{port}: using that one"]

    alone = launch(tmp_path / "b", kafka={"bootstrap_servers": f"localhost:{port}"})
    alone.add_broker(share=False)
    assert alone.broker_port != port
    assert [role.name for role in alone.roles] == ["broker"]


def test_a_second_start_in_the_same_home_uses_what_runs_there(tmp_path: Path) -> None:
    first, second = launch(tmp_path, web={"port": free_port()}), launch(tmp_path, web={"port": free_port()})
    first.add_pipeline()
    first.add_web()
    second.add_pipeline()
    second.add_web()
    assert second.roles == []
    assert second.page == first.page
    assert f"the pipeline already runs here, under process {os.getpid()}: using that one" in second.notices
    first.claims.release()
    third = launch(tmp_path)
    third.add_pipeline()
    assert [role.name for role in third.roles] == ["pipeline"]


def test_keys_are_kept_for_their_owner_only_and_those_that_are_set_are_never_shown(tmp_path: Path) -> None:
    key = kept_key(tmp_path, "viewer")
    assert len(key) >= 32
    assert kept_key(tmp_path, "viewer") == key != kept_key(tmp_path, "operator")
    assert stat.S_IMODE((tmp_path / "keys" / "viewer").stat().st_mode) == 0o600
    made = launch(tmp_path, tables={"key": "chosen by somebody"})
    made.add_tables()
    assert made.viewer_key == ""
    assert "chosen by somebody" not in str(made.roles)


def test_no_process_has_a_key_on_its_command_line(tmp_path: Path) -> None:
    made = launch(tmp_path, tables={"port": free_port()}, web={"port": free_port()})
    made.add_tables()
    made.add_web()
    words = " ".join(word for role in made.roles for word in role.command)
    assert made.viewer_key not in words
    assert made.operator_key not in words
