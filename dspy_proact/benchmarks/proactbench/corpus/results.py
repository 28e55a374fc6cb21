"""Files of results: what the official evaluator writes for one model, one dialogue a line, in and out.

Nothing is dropped in reading: a trigger without a grade stays, with the reason. What is written is read back before the
file is in its place. `unique_id_eval`, the documented key that the official evaluator forgets, is written after the
official keys and read wherever it stands. Labels and status are free text in the format: they are kept as they stand,
and `ResultTrigger` says what they mean.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.corpus.dialogues import DialogueRow, RowRubric, rubric_of, trigger_key
from dspy_proact.benchmarks.proactbench.types import EVALUATED, Grade, Origin, Rubric, is_evaluated
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Id, Line, Name, RawPart, lines_in, lines_of, read_bytes
from dspy_proact.kept import write_file
from dspy_proact.plain_text import encodable, map_texts, shown
from dspy_proact.types import Frozen

_SKIPPED = "SKIPPED"
"""The format's word for the status of a missing verdict."""
_TEXTS = TypeAdapter(tuple[str, ...])
_USAGE = ("prompt_tokens", "completion_tokens", "calls")
Count = Annotated[int, Field(ge=0)]
TurnNumber = Annotated[int, Field(ge=1)]
Used = Mapping[str, Mapping[str, int]]
"""Tokens and calls, by role and then by the format's name for them."""


class ResultTrigger(Frozen):
    """One trigger of a results file, scored or not."""

    origin: Origin
    """`source_model` is `source_evaluated_model`, who wrote the curated responses."""
    turn: TurnNumber
    """Counted from 1."""
    rubric: Rubric
    user_message: str | None
    """None where the record of the turn is missing."""
    response: str | None
    """What the model under test answered; None where it was dropped or null."""
    curated_response: str | None
    """`original_assistant_response`."""
    status: str | None = None
    """As it stands in the file, in any form; None without a result."""
    label: str | None = None
    """`score` as it stands in the file, in any form; None without a result."""
    reasoning: str = ""
    """`rationale`; empty without a result."""
    evidence: tuple[str, ...] = ()
    """What the judge quotes, not yet looked up in the response."""

    @property
    def key(self) -> str:
        """`<unique_id_eval>__t<turn>`; a row without `unique_id_eval` gets the one that the corpus has."""
        return trigger_key(self.origin.dialogue, self.turn)

    @property
    def grade(self) -> Grade | None:
        """What the judge said; None when unscored.

        A status or label that differs from the format in case or outer blanks only is read as what it says. An empty
        response has no grade, as in a run, though the official evaluator counts a verdict on it.
        """
        if self.label is None or not self._evaluated or self._empty:
            return None
        return next((grade for grade in Grade if grade == self.label.strip().upper()), None)

    @property
    def stray(self) -> bool:
        """Whether a verdict is not in the format's own words, exactly: the official evaluator loses it."""
        if self.status == EVALUATED:
            return self.label is not None and self.label not in tuple(Grade)
        return self.status != _SKIPPED and (self.status is not None or self.label is not None)

    @property
    def unscored_reason(self) -> str | None:
        """Why there is no grade; None when there is one. That there is no response goes before what the file says."""
        if self.grade is not None:
            return None
        if self.response is None:
            return "response: no_response"
        if self._empty:
            return "response: empty"
        if not self._evaluated and (self.status is not None or self.label is not None):
            return "verdict: not_evaluated"
        if self.label is not None:
            return "verdict: stray_label"
        return "verdict: no_verdict"

    @property
    def _evaluated(self) -> bool:
        return is_evaluated(self.status)

    @property
    def _empty(self) -> bool:
        return self.response is not None and not self.response.strip()


def quotes(value: object) -> tuple[str, ...]:
    """The quotes in a file's `evidence`: null, a string, a JSON list of strings within a string, or a list of them."""
    if not isinstance(value, str):
        try:
            return _TEXTS.validate_python([] if value is None else value)
        except ValidationError:
            raise PydanticCustomError("evidence", "Input should be a text or a list of texts") from None
    try:
        listed = _TEXTS.validate_python(json.loads(value)) if value.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        listed = None
    # A list within a string hides escapes from `Line`: one that holds what `Line` refuses is a text too.
    if listed is not None and all("\0" not in text and encodable(text) == text for text in listed):
        return listed
    return (value,) if value else ()


def evidence_text(evidence: Sequence[str]) -> str:
    """Quotes as the format's one string: nothing, the quote, or a JSON list where there are several.

    A quote that `quotes` would not give back as it is stands in a list too, so that reading undoes writing.
    """
    text = "".join(evidence)
    if len(evidence) <= 1 and quotes(text) == tuple(evidence):
        return text
    return json.dumps(list(evidence), ensure_ascii=False)


class RowVerdict(RawPart):
    """`evaluation_result`."""

    status: str | None
    score: str | None
    rationale: str | None = None
    evidence: Annotated[tuple[str, ...], BeforeValidator(quotes)] = ()


class RowPoint(RawPart):
    """One of `trigger_points`."""

    turn: TurnNumber
    evaluation_rubric: RowRubric
    evaluation_result: RowVerdict | None


class RowRecord(RawPart):
    """One of `turn_records`; official rows have one a trigger."""

    turn: TurnNumber
    user_message: str
    assistant_response: str | None
    original_assistant_response: str | None


class RowUsage(RawPart):
    """`token_usage` of a role."""

    prompt_tokens: Count
    completion_tokens: Count
    calls: Count


class ResultRow(DialogueRow):
    """One line of a results file: one dialogue."""

    evaluated_model: Id
    """The model under test."""
    source_evaluated_model: Name
    num_trigger_points: Count
    """Of the triggers that were attempted, as stated: dropped ones are missing."""
    trigger_stats: dict[str, dict[str, Count]]
    """Counts by phase and label, as stated."""
    trigger_points: list[RowPoint]
    turn_records: list[RowRecord]
    token_usage: dict[str, RowUsage] | None = None
    unique_id_eval: Id | None = None
    source_results_path: object = None
    """A path of another machine, in the released files; dropped unread."""

    @classmethod
    def of(cls, line: Line) -> Self:
        """The row on a line; raises as `Part.of` does, and says where the line is one of a corpus."""
        try:
            return super().of(line)
        except CorpusError:
            names = line.parse().keys()
            if {"turn_records", "trigger_points"} <= names and not {
                "source_evaluated_model",
                "num_trigger_points",
            } & names:
                problem = "missing, as in a corpus: this is no results file; give the file that the evaluator wrote"
                raise line.error(problem, "source_evaluated_model") from None
            raise

    @property
    def dialogue(self) -> str:
        """`unique_id_eval`, as given or as the corpus builds it."""
        return self.unique_id_eval or f"{self.blueprint_id}__style{self.style_combination_index}__{self.uuid}"

    def triggers(self) -> Iterator[ResultTrigger]:
        """The triggers, in the order of the row."""
        origin = self.origin(self.dialogue, self.source_evaluated_model)
        records = {record.turn: record for record in self.turn_records}
        for point in self.trigger_points:
            record = records.get(point.turn)
            verdict = point.evaluation_result or RowVerdict(status=None, score=None)
            yield ResultTrigger(
                origin=origin,
                turn=point.turn,
                rubric=rubric_of(point.evaluation_rubric.type, point.evaluation_rubric),
                user_message=record and record.user_message,
                response=record and record.assistant_response,
                curated_response=record and record.original_assistant_response,
                status=verdict.status,
                label=verdict.score,
                reasoning=verdict.rationale or "",
                evidence=verdict.evidence,
            )

    def orphans(self) -> Iterator[str]:
        """Keys of the turn records without a trigger."""
        turns = {point.turn for point in self.trigger_points}
        return (trigger_key(self.dialogue, record.turn) for record in self.turn_records if record.turn not in turns)

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever a turn is given twice."""
        points, records = [point.turn for point in self.trigger_points], [record.turn for record in self.turn_records]
        for name, what, turns in (("trigger_points", "trigger", points), ("turn_records", "record", records)):
            for index, turn in enumerate(turns):
                if turn in turns[:index]:
                    yield f"{name}[{index}].turn", f"turn {turn} has a {what} already: one a turn"


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


def read_results(path: str | Path) -> Results:
    """Read a results file; blank lines and a byte order mark are skipped.

    Raises a `CorpusError` where it cannot be read, is empty or a corpus, a line is at fault, or it has several models
    or a dialogue twice.
    """
    source = str(path)
    data = read_bytes(source, "the path of a results file")
    rows = tuple(_rows(lines_of(data, source), source))
    if not rows:
        raise CorpusError("empty: there is no dialogue in it", source=source)
    stated: dict[str, Counter[str]] = {}
    for row in rows:
        for phase, counts in row.trigger_stats.items():
            stated.setdefault(phase, Counter()).update(counts)
    return Results(
        name=source,
        sha256=hashlib.sha256(data).hexdigest(),
        model=rows[0].evaluated_model,
        triggers=tuple(trigger for row in rows for trigger in row.triggers()),
        dialogue_count=len(rows),
        stated={phase: dict(counts) for phase, counts in stated.items()},
        stated_triggers=sum(row.num_trigger_points for row in rows),
        orphans=tuple(key for row in rows for key in row.orphans()),
        ignored_fields=dict(sorted(sum((row.unknown_fields() for row in rows), Counter[str]()).items())),
    )


def _rows(lines: Iterable[str], source: str) -> Iterator[ResultRow]:
    first_lines: dict[str, int] = {}
    model: str | None = None
    for line in lines_in(lines, source):
        row = ResultRow.of(line)
        model = model or row.evaluated_model
        if row.evaluated_model != model:
            problem = f"{shown(row.evaluated_model)} here and {shown(model)} before: one model a file"
            raise line.error(problem, "evaluated_model")
        if (before := first_lines.setdefault(row.dialogue, line.number)) != line.number:
            raise line.error(f"the same dialogue stands on line {before}; keep one of the two rows", "unique_id_eval")
        yield row


def write_results(
    path: str | Path, model: str, triggers: Sequence[ResultTrigger], used: Mapping[str, Used] | None = None
) -> int:
    """Write a results file as the official evaluator does, and replace the file only when all of it is written.

    A dialogue's triggers go into one row, where the first of them stands. A trigger without a grade is written without
    a result and counted as SKIPPED, whatever its label was; stray verdicts are written as what they say. `used` is by
    dialogue, zeros where it does not say. Returns how many characters had to be replaced by U+FFFD: NUL characters and
    lone surrogates of responses and verdicts. Raises a `CorpusError` where there is no trigger, or a row could not be
    read back, and a `UsageError` where the file cannot be written.
    """
    source = str(path)
    if not triggers:
        raise CorpusError("not written: there is no trigger to write", source=source)
    groups: dict[Origin, list[ResultTrigger]] = {}
    replaced = 0
    for trigger in triggers:
        # Ids stay as they are.
        texts = trigger.model_dump(exclude={"origin"})
        # Texts that any file can hold: halves of surrogate pairs joined, lone ones and NULs replaced.
        safe = map_texts(texts, lambda text: encodable(text).replace("\0", "\ufffd"))
        before, after = (json.dumps(values, ensure_ascii=False).count("\ufffd") for values in (texts, safe))
        replaced += after - before
        groups.setdefault(trigger.origin, []).append(ResultTrigger(origin=trigger.origin, **safe))
    rows = (_row(model, origin, group, (used or {}).get(origin.dialogue, {})) for origin, group in groups.items())
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    list(_rows(StringIO(text), source))  # raises for what could not be read back
    write_file(Path(path), text)
    return replaced


def _row(model: str, origin: Origin, triggers: Sequence[ResultTrigger], used: Used) -> dict[str, Any]:
    stats: dict[str, dict[str, int]] = {}
    points: list[dict[str, object]] = []
    for trigger in triggers:
        rubric, verdict = trigger.rubric, None
        counts = stats.setdefault(rubric.phase.value, dict.fromkeys((*Grade, _SKIPPED), 0))
        counts[trigger.grade or _SKIPPED] += 1
        if trigger.grade is not None:
            verdict = {
                "status": EVALUATED,
                "score": trigger.grade,
                "rationale": trigger.reasoning,
                "evidence": evidence_text(trigger.evidence),
            }
        criteria = {"type": rubric.phase, **rubric.model_dump(mode="json", exclude={"phase"})}
        points.append({"turn": trigger.turn, "evaluation_rubric": criteria, "evaluation_result": verdict})
    return {
        "blueprint_id": origin.blueprint,
        "scenario_id": origin.scenario_id,
        "uuid": origin.persona,
        "category_key": f"{origin.life_domain}_persona",
        "style_combination_index": origin.style,
        "evaluated_model": model,
        "source_evaluated_model": origin.source_model,
        "num_trigger_points": len(triggers),
        "trigger_stats": stats,
        "trigger_points": points,
        "turn_records": [
            {
                "turn": trigger.turn,
                "user_message": trigger.user_message,
                "assistant_response": trigger.response,
                "original_assistant_response": trigger.curated_response,
            }
            for trigger in triggers
            if trigger.user_message is not None
        ],
        "token_usage": {
            role: {name: used.get(role, {}).get(name, 0) for name in _USAGE}
            for role in dict.fromkeys(("assistant", "judge", *used))
        },
        "unique_id_eval": origin.dialogue,
    }
