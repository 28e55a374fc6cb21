"""`python -m dspy_proact`."""

from dspy_proact.cli import main

main()
