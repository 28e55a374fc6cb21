"""Benchmarks: the driver that does any of them; each has a room of its own."""

from dspy_proact.benchmarks.execution import Completed, Execution
from dspy_proact.benchmarks.forecast import RoleCalls, RunForecast
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.benchmarks.run_name import folder_name, run_name

__all__ = ["Completed", "Execution", "Participant", "Responses", "RoleCalls", "RunForecast", "folder_name", "run_name"]
