"""A declaration can be held in mind: how many members there are on it, and over all of its values together."""

from dspy_proact import Benchmark, CallForecast, CorpusFacts, ModelDefaults, People, Published, ResultsFormat
from dspy_proact.evaluation.controls import Controls
from dspy_proact.evaluation.reporting import Reporting
from dspy_proact.evaluation.tuning import Tuning

VALUES = (CallForecast, Controls, CorpusFacts, ModelDefaults, People, Published, Reporting, ResultsFormat, Tuning)


def members(kind):
    return {name for name in (*kind.__annotations__, *vars(kind)) if not name.startswith("_")}


def test_a_benchmark_has_at_most_30_members_and_its_values_few():
    assert len(members(Benchmark)) <= 30
    assert len(members(Benchmark)) + sum(len(members(value)) for value in VALUES) <= 106
