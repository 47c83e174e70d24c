"""What an examination finds: a line for each check, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pointsman.domain.errors import PointsmanError


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # it will run, and may not do what is wanted
    PROBLEM = "problem"  # it will not run
    SKIPPED = "skipped"  # something that it depends on is a problem


@dataclass(frozen=True)
class Finding:
    check: str
    level: Level
    says: str
    next_step: str = ""

    def to_json(self) -> dict[str, str]:
        return {"check": self.check, "level": self.level.value, "says": self.says, "next": self.next_step}


def ok(check: str, says: str) -> Finding:
    return Finding(check, Level.OK, says)


def warning(check: str, says: str, next_step: str) -> Finding:
    return Finding(check, Level.WARNING, says, next_step)


def problem(check: str, says: str, next_step: str) -> Finding:
    return Finding(check, Level.PROBLEM, says, next_step)


def skipped(check: str, because: str) -> Finding:
    return Finding(check, Level.SKIPPED, f"not looked at: {because}")


def of(check: str, error: PointsmanError) -> Finding:
    return problem(check, str(error), error.next_step)
