"""What the embedded model says in each role: rules, so that a machine without a key has an assistant and a judge."""

from dspy_proact.benchmarks.proactbench.embedded import assistant, judge

__all__ = ["assistant", "judge"]
