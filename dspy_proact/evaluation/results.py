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
class ResultsFile:
    """A results file in the official format of a benchmark."""

    summary: Any
    """A `report.Summary`."""
    check: Callable[[str | None], ResultsCheck]
    """What is wrong with it, beside the corpus that it answers, as `--corpus` takes it; None where none is named."""


@dataclass(frozen=True)
class ResultsFormat:
    """The official format of a benchmark; every function raises a `CorpusError` where a file cannot be used."""

    read: Callable[[Path], ResultsFile] | None = None
    """A results file, for `report FILE`."""
    write: "Callable[[RunFolder, Any, Path], Sequence[str]] | None" = None
    """Write a run, with its `report.Summary`, to a path, for `export`; what the format cannot hold, a line each."""
    responses: "Callable[[Path, str | None, Settings], Sequence[Responses]] | None" = None
    """The answers in a file, those of each model apart, for `rejudge`; the corpus as `--corpus` names it, if any. The
    settings decide how they are read."""
