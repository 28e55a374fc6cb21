"""Benchmarks: the driver that does any of them; each has a room of its own."""

from dspy_proact.benchmarks.execution import Execution, Finished, folder_name, run_name
from dspy_proact.benchmarks.forecast import Forecast, RoleForecast
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.responses import Responses

__all__ = ["Execution", "Finished", "Forecast", "Participant", "Responses", "RoleForecast", "folder_name", "run_name"]
