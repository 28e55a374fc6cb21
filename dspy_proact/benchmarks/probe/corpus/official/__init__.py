"""The two official files of a task, at the border where they stop: what is given, and what is right.

Field names are the files'. What they hold beside (the plan of the evidence, the ids of the other items, who generated
what) is named here so that it is not counted as unknown, and is dropped unread. `facets` and `supported_by` are ours:
the official files have neither.
"""

from dspy_proact.benchmarks.probe.corpus.official.fit import foreign, unfit
from dspy_proact.benchmarks.probe.corpus.official.input import RawInput
from dspy_proact.benchmarks.probe.corpus.official.output import RawOutput

__all__ = ["RawInput", "RawOutput", "foreign", "unfit"]
