"""ProactBench: its cases, who answers and grades them, and what is its own beside a run."""
