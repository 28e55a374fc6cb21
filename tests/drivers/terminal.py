"""What a person types at a terminal, and what a terminal shows."""

import io
import shlex
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from dspy_proact.report import Comparison, Summary, print_comparison, print_summary

_REPEATED = {"--judge", "--model", "--set", "--stratum", "--phase", "--guard", "--by", "--trigger"}
"""Options that several values may be given of, among those that tests put together."""


def last(*arguments: object) -> list[object]:
    """The arguments without any value that a later one of the same option takes the place of."""
    kept: dict[str, list[object]] = {}
    words, at = list(arguments), 0
    while at < len(words):
        flag = str(words[at])
        valued = flag.startswith("--") and at + 1 < len(words) and not str(words[at + 1]).startswith("--")
        parts = words[at : at + 1 + valued]
        at += len(parts)
        once = flag.startswith("--") and flag not in _REPEATED and not flag.endswith("-param")
        kept[flag if once else f"{flag} {at}"] = parts
    return [part for parts in kept.values() for part in parts]


def table_rows(printed: str) -> list[list[str]]:
    """The cells of each line of what is printed as a table: of its heads, of the rule, and of each row."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[:1] == "|"]


def unwrapped(text: str) -> str:
    """What a person reads, however it is wrapped."""
    return " ".join(text.split())


def next_of(message: tuple[int, str, str]) -> list[str]:
    """The words of the only command that is said to be next, as a shell reads them."""
    (line,) = [line for line in message[2].splitlines() if "Next: " in line]
    first, *words = shlex.split(line.partition("Next: ")[2])
    assert first == "dspy-proact"
    return words


def printed(shown: Summary | Comparison, by: Sequence[str] = (), width: int | None = None, **options: Any) -> str:
    """What a terminal shows of a run or of a comparison, explained."""
    file = io.StringIO()
    if isinstance(shown, Comparison):
        print_comparison(shown, Console(file=file, width=width or 80, **options), explain=True)
    else:
        print_summary(shown, Console(file=file, width=width or 120, **options), by, explain=True)
    return file.getvalue()


def means(summary: Summary) -> dict[str, float | None]:
    """The value of every measure."""
    return {name: estimate.value for name, estimate in summary.measured(summary.outcomes).items()}
