"""Read → plan → perform → report. Knows the domain and the ports, nothing else."""

from pointsman.orchestrator.loop import Orchestrator, Pace
from pointsman.orchestrator.running import run

__all__ = ["Orchestrator", "Pace", "run"]
