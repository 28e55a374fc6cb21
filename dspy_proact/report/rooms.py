from dspy_proact.report.particulars import Particulars
from dspy_proact.report.proactbench.particulars import PROACTBENCH

_BY_BENCHMARK = {"proactbench": PROACTBENCH}
_NOTHING = Particulars()


def particulars_of(benchmark: str) -> Particulars:
    """What the benchmark of this name says of its own in reports."""
    return _BY_BENCHMARK.get(benchmark, _NOTHING)
