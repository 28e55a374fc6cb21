"""What the embedded model says in each role: rules, so that a machine without a key has an assistant and a judge."""

from dspy_proact.benchmarks.proactbench.embedded import assistant, judge
from dspy_proact.benchmarks.proactbench.embedded.simulated import HOSTILE, healthy, verdict

__all__ = ["HOSTILE", "assistant", "healthy", "judge", "verdict"]
