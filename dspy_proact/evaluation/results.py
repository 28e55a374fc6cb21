"""Files in the official format of a benchmark, in and out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.runs import RunFolder, Settings


@dataclass(frozen=True)
class ResultsCheck:
    """What is wrong with a results file."""

    document: Mapping[str, Any]
    """As JSON."""
    lines: Sequence[str]
    corpus: str
    """That it answers, as `--corpus` takes it."""


@dataclass(frozen=True)
class ResultsFormat:
    """The official format of a benchmark; every function raises a `CorpusError` where a file cannot be used."""

    read: "Callable[[Path, str | None, Settings], Sequence[Responses]] | None" = None
    """The answers in a file, those of each model apart, with the verdicts that it has. The corpus is that which the
    file answers, as `--corpus` names it; None for what the file itself has of its cases. The settings decide how they
    are read."""
    check: Callable[[Path, str | None], ResultsCheck] | None = None
    """What is wrong with a file, beside the corpus that it answers; None where none is named."""
    write: "Callable[[RunFolder, Any, Path], Sequence[str]] | None" = None
    """Write a run, with its `report.Summary`, to a path, for `export`; what the format cannot hold, a line each."""
