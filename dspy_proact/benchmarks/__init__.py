"""Benchmarks: each binds a corpus and programs to the protocol of `runs`."""

from dspy_proact.benchmarks.proactbench import ProactBench, case_key

__all__ = ["ProactBench", "case_key"]
