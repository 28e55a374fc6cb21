"""Benchmarks: each binds a corpus and programs to the protocol of `runs`."""

from dspy_proact.benchmarks.evaluation import Evaluation, Finished, folder_name
from dspy_proact.benchmarks.proactbench import ProactBench, case_key

__all__ = ["Evaluation", "Finished", "ProactBench", "case_key", "folder_name"]
