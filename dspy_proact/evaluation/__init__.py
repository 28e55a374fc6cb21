"""The declaration of a benchmark, and what runs any of them."""

DEFAULT_BENCHMARK = "proactbench"
"""Name of the benchmark where a person names none."""
OWN_ROWS = "rows"
"""Name of the benchmark of rows of a person's own, where they name a scale or columns and no benchmark."""
