"""The roles in which models are called: whom they are counted for, how a person names them, what stands in for them."""

from dspy_proact.benchmarks.proactbench.embedded import assistant, judge
from dspy_proact.models import Role

ASSISTANT = Role("assistant", "--model", "response", assistant.answer)
JUDGE = Role("judge", "--judge", "verdict", judge.answer)
REPORT_JUDGE = Role("judge", "--report-judge", "verdict", judge.answer)
"""Who tests what another judge has tuned."""
