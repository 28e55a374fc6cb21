"""What the embedded model says in each role: rules, so that a machine without a key has an assistant and a judge."""

from dspy_proact.programs.embedded import assistant, judge, proposer
from dspy_proact.programs.embedded.simulated import HOSTILE, healthy, verdict

__all__ = ["HOSTILE", "assistant", "healthy", "judge", "proposer", "verdict"]
