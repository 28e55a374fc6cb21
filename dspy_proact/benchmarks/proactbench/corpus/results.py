"""Files of results: what the official evaluator writes for one model, one dialogue a line, in and out.

Nothing is dropped on the way in: a trigger without a grade stays, with the reason, and what the file states about
itself stands beside what is in it. Nothing is lost on the way out: what is written is read back before the file is
in its place.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus.corpus import Corpus
from dspy_proact.benchmarks.proactbench.corpus.result_trigger import ResultTrigger, TokenUsage, made_safe, trigger_key
from dspy_proact.benchmarks.proactbench.corpus.results_row import ResultRow, row_text
from dspy_proact.benchmarks.proactbench.types import Origin
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.line import lines_in
from dspy_proact.files.text_file import lines_of, read_bytes
from dspy_proact.kept import write_whole
from dspy_proact.plain_text import shown


@dataclass(frozen=True)
class Results:
    """A results file that was validated as a whole."""

    name: str
    """The path that the person asked for."""
    sha256: str
    """64 hex digits over the bytes of the file."""
    model: str
    """The model under test, the same in all rows."""
    triggers: tuple[ResultTrigger, ...]
    """In the order of the file, scored or not."""
    dialogue_count: int
    """Rows of the file, at least 1; a row may be without a trigger."""
    stated: Mapping[str, Mapping[str, int]] = field(hash=False)
    """`trigger_stats` summed over the rows, by phase and label as they stand there."""
    stated_triggers: int
    """`num_trigger_points` summed over the rows."""
    orphans: tuple[str, ...]
    """Keys of turn records without a trigger."""
    ignored_fields: Mapping[str, int] = field(hash=False)
    """How often each field occurred that the format does not know, by dotted name."""
    usage: Mapping[str, TokenUsage] = field(hash=False)
    """`token_usage` summed over the rows that give it, by role."""

    def require_of(self, corpus: Corpus) -> None:
        """Raise a `UsageError` where the file has triggers that the corpus has not."""
        known = {
            trigger_key(dialogue.origin.dialogue, trigger.turn)
            for dialogue in corpus.dialogues
            for trigger in dialogue.triggers
        }
        strange = [trigger.key for trigger in self.triggers if trigger.key not in known]
        if strange:
            raise UsageError(
                f"{self.name}: {len(strange)} of its {len(self.triggers)} triggers are not in the corpus "
                f"{corpus.name!r}, the first is {strange[0]!r}; name the corpus that it answers with --corpus"
            )


def read_results(path: str | Path) -> Results:
    """Read a results file; blank lines and a byte order mark are skipped.

    Raises:
        CorpusError: The file is missing, a folder, unreadable, not UTF-8, empty or a corpus, a line is at fault, or
            the rows are of several models or have a dialogue twice.
    """
    source = str(path)
    data = read_bytes(source, "the path of a results file")
    rows = tuple(_rows(lines_of(data, source), source))
    if not rows:
        raise CorpusError("empty: there is no dialogue in it", source=source)
    return Results(
        name=source,
        sha256=hashlib.sha256(data).hexdigest(),
        model=rows[0].evaluated_model,
        triggers=tuple(trigger for row in rows for trigger in row.triggers()),
        dialogue_count=len(rows),
        stated={phase: dict(counts) for phase, counts in _summed(row.trigger_stats for row in rows).items()},
        stated_triggers=sum(row.num_trigger_points for row in rows),
        orphans=tuple(key for row in rows for key in row.orphans()),
        ignored_fields=dict(sorted(sum((row.unknown_fields() for row in rows), Counter[str]()).items())),
        usage={role: TokenUsage(**used) for role, used in _summed(row.usage() for row in rows).items()},
    )


def write_results(
    path: str | Path,
    model: str,
    triggers: Sequence[ResultTrigger],
    usage: Mapping[str, Mapping[str, TokenUsage]] | None = None,
) -> int:
    """Write a results file as the official evaluator does, and replace the file only when all of it is written.

    A dialogue's triggers go into one row, where the first of them stands. A trigger without a grade is written
    without a result and counted as SKIPPED, whatever its label was; stray verdicts are written as what they say.

    Args:
        path: The file; its folder must be there.
        model: The model under test.
        triggers: At least one, each turn of a dialogue at most once.
        usage: What each role used, by dialogue and role; zeros where it does not say.

    Returns:
        How many characters had to be replaced by U+FFFD: NUL characters and lone surrogates of responses and verdicts.

    Raises:
        CorpusError: There is no trigger, or a row could not be read back.
        UsageError: The file cannot be written.
    """
    source = str(path)
    if not triggers:
        raise CorpusError("not written: there is no trigger to write", source=source)
    safe = [made_safe(trigger) for trigger in triggers]
    text = "".join(
        f"{row_text(model, group, (usage or {}).get(group[0].origin.dialogue, {}))}\n"
        for group in _grouped(trigger for trigger, _ in safe)
    )
    list(_rows(StringIO(text), source))  # raises for what could not be read back
    write_whole(Path(path), text)
    return sum(replaced for _, replaced in safe)


def _rows(lines: Iterable[str], source: str) -> Iterator[ResultRow]:
    """The rows of the lines, of which each dialogue has one and all are of one model."""
    first_lines: dict[str, int] = {}
    first: ResultRow | None = None
    for line in lines_in(lines, source):
        row = ResultRow.of(line)
        first = first or row
        if row.evaluated_model != first.evaluated_model:
            problem = f"{shown(row.evaluated_model)} here and {shown(first.evaluated_model)} before: one model a file"
            raise line.error(problem, "evaluated_model")
        if (before := first_lines.setdefault(row.dialogue, line.number)) != line.number:
            raise line.error(f"the same dialogue stands on line {before}; keep one of the two rows", "unique_id_eval")
        yield row


def _grouped(triggers: Iterable[ResultTrigger]) -> Iterable[list[ResultTrigger]]:
    """The triggers of each dialogue, in the order of their first ones."""
    groups: dict[Origin, list[ResultTrigger]] = {}
    for trigger in triggers:
        groups.setdefault(trigger.origin, []).append(trigger)
    return groups.values()


def _summed(rows: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """The sums over rows of what each counts, by phase or role."""
    total: dict[str, Counter[str]] = {}
    for row in rows:
        for name, counts in row.items():
            total.setdefault(name, Counter()).update(counts)
    return total
