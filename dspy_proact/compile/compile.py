"""A compile as a value: checked before the first call, kept in a folder, resumed by the same."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from dspy_proact.compile.workshop import folder_of, workshop
from dspy_proact.models import Gate, Record
from dspy_proact.programs import AssistantArtefact, JudgeArtefact, write_artefact

A = TypeVar("A", JudgeArtefact, AssistantArtefact)
VERSIONED = ("optuna", "gepa")
"""Packages that decide what a compile ends in, beside those of every run."""


@dataclass(frozen=True)
class Finished(Generic[A]):
    """How a compile ended."""

    path: Path
    """The artefact."""
    artefact: A
    paid: int
    """Requests that were sent by this command; the rest stood in the record."""


class Compile(ABC, Generic[A]):
    """What the compiles of judge and assistant have in common."""

    program: ClassVar[str]
    """What is compiled: the name of folder and file."""
    _gate: Gate
    """Of all its models."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What must be equal for two commands to be the same compile; JSON."""

    @property
    def noted(self) -> Mapping[str, Any]:
        """What is written down beside the identity and decides nothing."""
        return {}

    @property
    def default_folder(self) -> Path:
        """`compiles/<program>--<8 hex of the identity>`."""
        return folder_of(self.program, self.identity)

    def run(self, out: str | Path | None = None, told: Callable[[str], None] = lambda _: None) -> Finished[A]:
        """Compile, or go on with the compile in the folder, and write the artefact.

        Args:
            out: The folder; `default_folder` when None.
            told: Is given a line now and then.

        Raises:
            RunError: The folder holds another compile, is in use, or cannot be written.
            Halt: It ended early; what was answered is kept, and the same call goes on.
        """
        folder = Path(out or self.default_folder)
        with workshop(folder, self.identity, self._gate, self.noted) as record:
            artefact = self._compiled(record, folder, told)
        path = folder / f"{self.program}.json"
        write_artefact(path, artefact)
        return Finished(path, artefact, record.paid)

    @abstractmethod
    def _compiled(self, record: Record, folder: Path, told: Callable[[str], None]) -> A:
        """The artefact of a compile whose answers go into a record, and whose studies into a folder."""
