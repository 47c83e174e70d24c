"""A fleet of small real processes: started in order, started again, ended together, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pointsman.domain.errors import FleetError, ShutOut
from pointsman.fleet.child import Role
from pointsman.fleet.supervision import LONGEST_PAUSE, STEADY_SECONDS, Died, Event, Fleet, Ready, Starting, Stopped

READY = "import sys, time, signal, os; print('ready: so far', flush=True)"
LIVES = f"{READY}; time.sleep(300)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LIVES}"


def role(name: str, script: str, *after: str) -> Role:
    return Role(name, (sys.executable, "-S", "-c", script), after=after)


class Stage:
    """A fleet, what it has told, and a clock that stands still unless it is set forward."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[Event] = []
        self.now = 1000.0
        self.fleet = Fleet([], folder, self.told.append)

    def start(self, *roles: Role) -> Fleet:
        self.fleet = Fleet(roles, self.folder, self.told.append, clock=lambda: self.now)
        return self.fleet

    def until(self, holds: Callable[[], object], seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, self.told
            self.fleet.tend()
            time.sleep(0.01)

    def until_ready(self, *roles: Role) -> Fleet:
        fleet = self.start(*roles)
        self.until(lambda: fleet.all_ready)
        return fleet

    def kill(self, name: str) -> Died:
        """Kills a process and gives what the fleet says of it."""
        pid, before = self.fleet.pid(name), len(self.told)
        assert pid
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: len(self.told) > before)
        event = self.told[before]
        assert isinstance(event, Died)
        return event


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.fleet.stop(0.5)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_process_starts_when_those_before_it_are_ready(stage: Stage, tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n{LIVES}"
    fleet = stage.start(role("pipeline", LIVES, "broker"), role("broker", slow))
    stage.until(lambda: fleet.pid("broker"))
    fleet.tend()
    assert stage.told == [Starting("broker", 1)]
    go.touch()
    stage.until(lambda: fleet.all_ready)
    assert [(type(e), e.role) for e in stage.told] == [
        (Starting, "broker"),
        (Ready, "broker"),
        (Starting, "pipeline"),
        (Ready, "pipeline"),
    ]
    assert stage.told[1] == Ready("broker", "so far", 0.0)


def test_a_ctrl_c_is_for_the_fleet_to_answer_and_all_are_scheduled_as_one_session(stage: Stage) -> None:
    fleet = stage.until_ready(role("broker", LIVES), role("web", LIVES))
    pids = [fleet.pid(name) or 0 for name in ("broker", "web")]
    assert [os.getpgid(pid) for pid in pids] == pids, "the terminal's foreground group is ours alone"
    assert {os.getsid(pid) for pid in pids} == {os.getsid(0)}, "see docs/decisions/0009"


def test_one_that_dies_is_started_again_after_pauses_that_double_up_to_a_limit(stage: Stage) -> None:
    fleet = stage.until_ready(role("web", LIVES))
    pauses = []
    for _ in range(7):
        died = stage.kill("web")
        pauses.append(died.pause)
        fleet.tend()
        assert fleet.pid("web") is None, "it was started before its pause was over"
        stage.now += died.pause
        stage.until(lambda: fleet.all_ready)
    assert pauses == [1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE]
    assert died.code == -signal.SIGKILL


def test_one_that_was_steady_has_earned_the_first_pause_again(stage: Stage) -> None:
    fleet = stage.until_ready(role("web", LIVES))
    for _ in range(3):
        stage.now += stage.kill("web").pause
        stage.until(lambda: fleet.all_ready)
    stage.now += STEADY_SECONDS
    assert stage.kill("web").pause == 1


def test_the_others_go_on_while_one_is_away(stage: Stage) -> None:
    fleet = stage.until_ready(role("broker", LIVES), role("web", LIVES, "broker"))
    web = fleet.pid("web")
    stage.kill("broker")
    assert fleet.pid("web") == web


def test_one_that_never_was_ready_is_told_in_its_own_words_and_not_tried_again(stage: Stage) -> None:
    script = "import sys; sys.exit('noise\\nerror: the jars are missing\\nnext: run `make setup`')"
    fleet = stage.start(role("pipeline", script))
    with pytest.raises(FleetError) as failed:
        stage.until(lambda: False)
    assert str(failed.value) == "the pipeline did not start (exit code 1): the jars are missing"
    assert failed.value.next_step == "run `make setup`"
    fleet.tend()
    assert [type(event) for event in stage.told] == [Starting]


def test_what_an_earlier_start_said_is_not_the_reason_of_this_one(stage: Stage) -> None:
    (stage.folder / "web.log").write_text("error: long ago\n")
    stage.start(role("web", "import sys; sys.exit('Killed by the weather')"))
    with pytest.raises(FleetError, match="Killed by the weather"):
        stage.until(lambda: False)


def test_one_that_another_has_taken_the_place_of_does_not_fight_back(stage: Stage, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"{READY}\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    script += "print('error: another orchestrator has taken over', file=sys.stderr); sys.exit(4)"
    stage.until_ready(role("pipeline", script))
    go.touch()
    with pytest.raises(ShutOut, match="another orchestrator has taken over"):
        stage.until(lambda: False)


def test_stop_ends_the_last_first_and_the_broker_after_all_others(tmp_path: Path) -> None:
    stage, ends = Stage(tmp_path), tmp_path / "ends"
    leaves = "import sys, time, signal\ndef end(*_):\n time.sleep({nap})\n"
    leaves += " open({file!r}, 'a').write('{name} ')\n sys.exit(0)\n"
    leaves += "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)"

    def leaving(name: str, nap: float, *after: str) -> Role:
        return role(name, leaves.format(nap=nap, file=str(ends), name=name), *after)

    fleet = stage.until_ready(
        leaving(
            "broker",
            0,
        ),
        leaving("pipeline", 0.5, "broker"),
        leaving("web", 0, "broker"),
    )
    fleet.stop()
    assert ends.read_text().split() == ["web", "pipeline", "broker"]
    assert {e for e in stage.told if isinstance(e, Stopped)} == {
        Stopped(name, killed=False) for name in ("broker", "pipeline", "web")
    }


def test_one_that_does_not_listen_is_killed_in_time(tmp_path: Path) -> None:
    told: list[Event] = []
    fleet = Fleet([role("broker", STUBBORN), role("web", STUBBORN, "broker")], tmp_path, told.append)
    deadline = time.monotonic() + 20
    while not fleet.all_ready:
        assert time.monotonic() < deadline
        fleet.tend()
        time.sleep(0.01)
    pids = [fleet.pid("broker"), fleet.pid("web")]
    begun = time.monotonic()
    fleet.stop(0.6)
    assert time.monotonic() - begun < 3
    assert all(gone(pid or 0) for pid in pids)
    assert [e for e in told if isinstance(e, Stopped)] == [Stopped("web", True), Stopped("broker", True)]


def test_what_a_process_leaves_running_ends_with_it(stage: Stage, tmp_path: Path) -> None:
    left = tmp_path / "left"
    script = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(300)'])"
    )
    script += f"; open({str(left)!r}, 'w').write(str(child.pid)); {LIVES}"
    stage.until_ready(role("pipeline", script))
    stage.kill("pipeline")
    grandchild = int(left.read_text())
    stage.until(lambda: gone(grandchild))


OWNER = """
import sys, time
from pathlib import Path
from pointsman.fleet.child import Role
from pointsman.fleet.supervision import Fleet
script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(300)"
roles = [Role(name, (sys.executable, "-S", "-c", script)) for name in ("broker", "web")]
fleet = Fleet(roles, Path(sys.argv[1]), lambda event: None)
while not fleet.all_ready:
    fleet.tend()
    time.sleep(0.01)
print(fleet.pid("broker"), fleet.pid("web"), flush=True)
time.sleep(300)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of another system does not offer it")
def test_no_process_outlives_an_owner_that_was_killed(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) == 2
    assert not any(gone(pid) for pid in pids)
    owner.kill()
    owner.wait()
    deadline = time.monotonic() + 10
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.02)
