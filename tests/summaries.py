"""What a test reads of the summary of a run."""

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from dspy_proact.report import Summary, print_summary


def means(summary: Summary) -> dict[str, float | None]:
    """The value of every measure."""
    return {name: estimate.value for name, estimate in summary.measured(summary.outcomes).items()}


def printed(summary: Summary, by: Sequence[str] = (), width: int = 120, **options: Any) -> str:
    """What a terminal shows of it, explained."""
    file = io.StringIO()
    print_summary(summary, Console(file=file, width=width, **options), by, explain=True)
    return file.getvalue()
