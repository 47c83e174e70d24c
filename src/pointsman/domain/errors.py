"""Every error a user can meet.

    PointsmanError            what went wrong, and `next_step`: the command or change that mends it
    ├── SettingsError         a key or value in a flag, a variable or pointsman.toml
    ├── EnvironmentProblem    this machine: Java, jars, ports, disk
    ├── BrokerError           Kafka cannot be reached, refuses us, or misses a topic
    │   ├── NotAllowed        it knows us, and does not permit what we ask
    │   └── TopicTaken        a generation's topic exists already: a leftover, and its number is burnt
    ├── PipelineError         Spark cannot run the generation: slots, a query that died
    │   └── NoRoom            not enough slots now; freeing a lingering generation may help
    ├── CatalogError          the catalog record cannot be read, or belongs to a newer version
    │   └── FencedOut         another orchestrator has taken over this prefix
    ├── IllegalMove           a generation was asked to go from one state to another that it cannot reach
    ├── TablesError           the tables server cannot start or answer
    ├── NotInTime             what was waited for has not come; it may still
    └── FleetError            a process that `pointsman up` runs did not start
        └── ShutOut           it is not let in: another has taken its place, or the broker forbids it

The command line prints `str(error)` and `next_step` and ends with `exit_code`; a traceback only with --debug.
"""

from __future__ import annotations

from typing import ClassVar

TIMED_OUT, NOT_ALLOWED = 3, 4


class PointsmanError(Exception):
    """A sentence for the user, and what to do next."""

    exit_code: ClassVar[int] = 1  # 1 failed, 3 timed out, 4 not allowed

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class SettingsError(PointsmanError): ...


class EnvironmentProblem(PointsmanError): ...


class BrokerError(PointsmanError): ...


class NotAllowed(BrokerError):
    exit_code = NOT_ALLOWED


class TopicTaken(BrokerError): ...


class PipelineError(PointsmanError): ...


class NoRoom(PipelineError): ...


class CatalogError(PointsmanError): ...


class FencedOut(CatalogError):
    exit_code = NOT_ALLOWED


class IllegalMove(PointsmanError): ...


class TablesError(PointsmanError): ...


class NotInTime(PointsmanError):
    exit_code = TIMED_OUT


class FleetError(PointsmanError): ...


class ShutOut(FleetError):
    exit_code = NOT_ALLOWED
