"""The declaration of a benchmark, and what runs any of them."""

DEFAULT_BENCHMARK = "proactbench"
"""Name of the benchmark where a person names none."""
