import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from dspy_proact.benchmarks.proactbench.corpus.row import Row
from dspy_proact.benchmarks.proactbench.types import Dialogue
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import lines_in

_MOST_NAMED = 5
"""Ignored fields that the note names."""


@dataclass(frozen=True)
class Corpus:
    """Dialogues that were validated as a whole, and where they come from."""

    name: str
    """What the person asked for: a path, `sample` or `proactbench`."""
    revision: str | None
    """Commit of the dataset; None for files, which have none."""
    dialogues: tuple[Dialogue, ...]
    """In the order of the file."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """How often each field occurred that the format does not know, by dotted name."""

    @classmethod
    def of(cls, lines: Iterable[str], *, name: str, source: str, revision: str | None = None) -> Self:
        """Read and validate the lines of an official file; blank lines and a byte order mark are skipped.

        Raises:
            CorpusError: A line is at fault, two rows have one `unique_id_eval`, or there is no dialogue or no
                trigger in all.
        """
        dialogues: list[Dialogue] = []
        ignored = Counter[str]()
        first_lines: dict[str, int] = {}
        for line in lines_in(lines, source):
            row = Row.of(line)
            if (first := first_lines.setdefault(row.unique_id_eval, line.number)) != line.number:
                raise line.error(f"the same key stands on line {first}; keep one of the two rows", "unique_id_eval")
            dialogues.append(row.dialogue())
            ignored.update(row.unknown_fields())
        if not dialogues:
            raise CorpusError("empty: there is no dialogue in it", source=source)
        if not any(dialogue.triggers for dialogue in dialogues):
            raise CorpusError("no dialogue has a trigger, so there is nothing to measure", source=source)
        return cls(name, revision, tuple(dialogues), dict(sorted(ignored.items())))

    @property
    def trigger_count(self) -> int:
        """Number of triggers in all dialogues, at least 1."""
        return sum(len(dialogue.triggers) for dialogue in self.dialogues)

    @cached_property
    def sha256(self) -> str:
        """64 hex digits over the dialogues and their order; the file's formatting and hidden fields leave it alone."""
        whole = hashlib.sha256(b"[")
        for number, dialogue in enumerate(self.dialogues):
            row = dialogue.model_dump(mode="json")
            canonical = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            whole.update(f"{',' if number else ''}{canonical}".encode())
        whole.update(b"]")
        return whole.hexdigest()

    @property
    def ignored_note(self) -> str:
        """One line for the person about the ignored fields, the commonest named; empty when there are none."""
        if not self.ignored_fields:
            return ""
        ranked = sorted(self.ignored_fields.items(), key=lambda entry: (-entry[1], entry[0]))
        named = ", ".join(f"{name!r} ({count})" for name, count in ranked[:_MOST_NAMED])
        rest = f" and {len(ranked) - _MOST_NAMED} more" if len(ranked) > _MOST_NAMED else ""
        return f"ignored fields that the format does not know: {named}{rest}"
