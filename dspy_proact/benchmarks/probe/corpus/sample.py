"""What goes with the bundled tasks: what their authors say of each item, and answers that they graded by hand.

None of it is handed to a program. The grades are the authors', who are language-model agents: agreement with them says
how a judge does on answers whose quality was made, and nothing about people.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from dspy_proact.benchmarks.probe.corpus.grade import IdentificationVerdict, ParametersVerdict
from dspy_proact.files.data_file import csv_rows
from dspy_proact.types import Frozen

DATA = files("dspy_proact.benchmarks.probe") / "data"

_FOLDER = DATA / "sample"


class Distractor(Frozen):
    """An item that is no evidence, and why."""

    item: str
    """Its id in the files."""
    person: str
    strategy: str
    """How it misleads, such as `outdated bottleneck`; `benign` where it does not."""
    why: str


class EvidenceNote(Frozen):
    """What an item of evidence tells by itself, in whole or in part."""

    item: str
    """Its id in the files."""
    task: str
    facets: tuple[str, ...]
    """Of the bottleneck, by their names; none where it tells a parameter only."""


class GradedDescription(Frozen):
    """A description of a task's bottleneck, and how it is graded."""

    key: str
    task: str
    quality: Literal["full", "detail missing", "wrong blocker", "generic"]
    """As what it was written."""
    description: str
    verdict: IdentificationVerdict


class GradedParameters(Frozen):
    """Parameters of a task's right action, and how they are graded."""

    key: str
    task: str
    quality: Literal["good", "paraphrase", "partial", "wrong"]
    """As what they were written."""
    parameters: dict[str, Any]
    verdict: ParametersVerdict


def sample_folder() -> Path:
    """The bundled tasks, a folder in the official layout."""
    return Path(str(_FOLDER))


def sample_distractors() -> tuple[Distractor, ...]:
    """What the authors say of the items that are no evidence, in the order of their file."""
    return tuple(Distractor(**row) for row in csv_rows(_FOLDER / "distractors.csv"))


def sample_evidence() -> tuple[EvidenceNote, ...]:
    """What they say of those that are, in the order of their file."""
    rows = csv_rows(_FOLDER / "evidence.csv")
    return tuple(EvidenceNote(item=row["item"], task=row["task"], facets=tuple(row["facets"].split())) for row in rows)


def sample_graded_descriptions() -> tuple[GradedDescription, ...]:
    """Four descriptions a task, in the order of their file."""
    return tuple(map(GradedDescription.model_validate_json, _lines("graded_descriptions.jsonl")))


def sample_graded_parameters() -> tuple[GradedParameters, ...]:
    """Four sets of parameters a task, in the order of their file."""
    return tuple(map(GradedParameters.model_validate_json, _lines("graded_parameters.jsonl")))


def _lines(name: str) -> list[str]:
    return (_FOLDER / name).read_text(encoding="utf-8").splitlines()
