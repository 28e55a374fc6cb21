"""A row of the official results format, at the border where it is read and written.

`unique_id_eval`, the documented key that the official evaluator forgets, is written after the official keys and read
wherever it stands. Labels and status are free text in the format, so they are kept as they stand, and `ResultTrigger`
says what they mean.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.corpus.result_trigger import (
    EVALUATED,
    SKIPPED,
    ResultTrigger,
    TokenUsage,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.corpus.row import DialogueRow, RowRubric
from dspy_proact.benchmarks.proactbench.types import Grade, Origin
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line
from dspy_proact.files.part import Id, Name, RawPart
from dspy_proact.plain_text import encodable

_TEXTS = TypeAdapter(tuple[str, ...])
_UNUSED: Mapping[str, TokenUsage] = {"assistant": TokenUsage(), "judge": TokenUsage()}


def evidence_text(evidence: Sequence[str]) -> str:
    """Quotes as the format's one string: nothing, the quote, or a JSON list where there are several.

    A quote that `quotes` would not give back as it is stands in a list too, so that reading undoes writing.
    """
    if len(evidence) <= 1:
        text = "".join(evidence)
        if quotes(text) == tuple(evidence):
            return text
    return json.dumps(list(evidence), ensure_ascii=False)


def quotes(value: object) -> tuple[str, ...]:
    """The quotes in a file's `evidence`: null, a string, a JSON list of strings within a string, or a list of them.

    Raises:
        PydanticCustomError: It is something else.
    """
    if isinstance(value, str):
        return _in_text(value)
    try:
        return _TEXTS.validate_python([] if value is None else value)
    except ValidationError:
        raise PydanticCustomError("evidence", "Input should be a text or a list of texts") from None


class RowVerdict(RawPart):
    """`evaluation_result`."""

    status: str | None
    score: str | None
    rationale: str | None = None
    evidence: Annotated[tuple[str, ...], BeforeValidator(quotes)] = ()


class RowPoint(RawPart):
    """One of `trigger_points`."""

    turn: Annotated[int, Field(ge=1)]
    evaluation_rubric: RowRubric
    evaluation_result: RowVerdict | None


class RowRecord(RawPart):
    """One of `turn_records`; official rows have one a trigger."""

    turn: Annotated[int, Field(ge=1)]
    user_message: str
    assistant_response: str | None
    original_assistant_response: str | None


class RowUsage(RawPart):
    """`token_usage` of a role."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    completion_tokens: Annotated[int, Field(ge=0)]
    calls: Annotated[int, Field(ge=0)]


class ResultRow(DialogueRow):
    """One line of a results file: one dialogue."""

    evaluated_model: Id
    """The model under test."""
    source_evaluated_model: Name
    num_trigger_points: Annotated[int, Field(ge=0)]
    """Of the triggers that were attempted, as stated: dropped ones are missing."""
    trigger_stats: dict[str, dict[str, Annotated[int, Field(ge=0)]]]
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
            if field := _corpus_sign(line.parse()):
                problem = "missing, as in a corpus: this is no results file; give the file that the evaluator wrote"
                raise line.error(problem, field) from None
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
            yield _trigger(origin, point, records.get(point.turn))

    def orphans(self) -> Iterator[str]:
        """Keys of the turn records without a trigger."""
        turns = {point.turn for point in self.trigger_points}
        return (trigger_key(self.dialogue, record.turn) for record in self.turn_records if record.turn not in turns)

    def usage(self) -> dict[str, dict[str, int]]:
        """What each role used, as `TokenUsage` has it; nothing where the row does not say."""
        stated = self.token_usage or {}
        return {role: used.model_dump(include={*RowUsage.model_fields}) for role, used in stated.items()}

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever a turn is given twice."""
        points, records = [point.turn for point in self.trigger_points], [record.turn for record in self.turn_records]
        for name, what, turns in (("trigger_points", "trigger", points), ("turn_records", "record", records)):
            for index, turn in enumerate(turns):
                if turn in turns[:index]:
                    yield f"{name}[{index}].turn", f"turn {turn} has a {what} already: one a turn"


def row_text(model: str, triggers: Sequence[ResultTrigger], usage: Mapping[str, TokenUsage]) -> str:
    """A dialogue's triggers, of which there is at least one, as a line of a results file without its end."""
    origin = triggers[0].origin
    row = {
        "blueprint_id": origin.blueprint,
        "scenario_id": origin.scenario_id,
        "uuid": origin.persona,
        "category_key": f"{origin.life_domain}_persona",
        "style_combination_index": origin.style,
        "evaluated_model": model,
        "source_evaluated_model": origin.source_model,
        "num_trigger_points": len(triggers),
        "trigger_stats": _stats(triggers),
        "trigger_points": [_point(trigger) for trigger in triggers],
        "turn_records": [_record(trigger) for trigger in triggers if trigger.user_message is not None],
        "token_usage": {role: used.model_dump() for role, used in ({**_UNUSED, **usage}).items()},
        "unique_id_eval": origin.dialogue,
    }
    return json.dumps(row, ensure_ascii=False)


def _corpus_sign(raw: Mapping[str, object]) -> str | None:
    """The field whose lack says that a row is a corpus's; None for what may be a row of results."""
    if "source_evaluated_model" in raw or "num_trigger_points" in raw:
        return None
    for name, field in (("turn_records", "original_assistant_response"), ("trigger_points", "evaluation_result")):
        parts = raw.get(name)
        if isinstance(parts, list) and parts and all(isinstance(part, dict) and field not in part for part in parts):
            return f"{name}[0].{field}"
    return None


def _trigger(origin: Origin, point: RowPoint, record: RowRecord | None) -> ResultTrigger:
    verdict = point.evaluation_result or RowVerdict(status=None, score=None)
    return ResultTrigger(
        key=trigger_key(origin.dialogue, point.turn),
        origin=origin,
        turn=point.turn,
        rubric=point.evaluation_rubric.rubric(),
        user_message=record and record.user_message,
        response=record and record.assistant_response,
        curated_response=record and record.original_assistant_response,
        status=verdict.status,
        label=verdict.score,
        reasoning=verdict.rationale or "",
        evidence=verdict.evidence,
    )


def _point(trigger: ResultTrigger) -> dict[str, object]:
    rubric, verdict = trigger.rubric, None
    if trigger.grade is not None:
        evidence = evidence_text(trigger.evidence)
        verdict = {"status": EVALUATED, "score": trigger.grade, "rationale": trigger.reasoning, "evidence": evidence}
    criteria = rubric.model_dump(mode="json", exclude={"phase"})
    return {"turn": trigger.turn, "evaluation_rubric": {"type": rubric.phase, **criteria}, "evaluation_result": verdict}


def _record(trigger: ResultTrigger) -> dict[str, object]:
    return {
        "turn": trigger.turn,
        "user_message": trigger.user_message,
        "assistant_response": trigger.response,
        "original_assistant_response": trigger.curated_response,
    }


def _stats(triggers: Sequence[ResultTrigger]) -> dict[str, dict[str, int]]:
    """Counts by phase and label, of the phases that occur; unscored ones are SKIPPED."""
    stats: dict[str, dict[str, int]] = {}
    for trigger in triggers:
        counts = stats.setdefault(trigger.rubric.phase.value, dict.fromkeys((*Grade, SKIPPED), 0))
        counts[trigger.grade or SKIPPED] += 1
    return stats


def _in_text(text: str) -> tuple[str, ...]:
    """The strings of a JSON list in a text; the text itself where there is none; nothing where it is empty.

    A list within a string hides escapes from `Line`: one that holds what `Line` refuses is a text too.
    """
    try:
        listed = _TEXTS.validate_python(json.loads(text)) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        listed = None
    if listed is not None and all("\0" not in each and encodable(each) == each for each in listed):
        return listed
    return (text,) if text else ()
