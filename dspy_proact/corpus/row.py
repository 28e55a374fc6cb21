"""A row of the official file, at the border where it stops.

What programs may see goes into a `Dialogue`; ids and grouping keys go into its `Origin`. The fields that
the format knows and nobody may see (the planner's notes, token usage, results of older versions) are
named here so that they are not counted as unknown, and are dropped unread. Field names are the corpus's.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from dspy_proact.corpus.line import Line, dotted, shown
from dspy_proact.types import Dialogue, Origin, Phase, Rubric, Trigger, Turn


def _filled(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Input should not be blank")
    return text


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("unprintable", "Input should have no control characters")
    return text


Text = Annotated[str, AfterValidator(_filled)]
"""Text with more than white space in it."""
Name = Annotated[str, AfterValidator(_printable)]
"""Text that reports may print: no control characters."""
Id = Annotated[str, AfterValidator(_filled), AfterValidator(_printable)]
"""A name that is not blank."""


class RawPart(BaseModel):
    """Part of a raw row: no coercion; unknown fields are held apart, to be counted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class RowRubric(RawPart):
    """`evaluation_rubric`."""

    type: Annotated[Phase, Field(strict=False)]
    """Not strict because JSON has no enumerations; nothing but the three names is accepted."""
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class RowTrigger(RawPart):
    """One of `trigger_points`."""

    turn: int
    evaluation_rubric: RowRubric
    evaluation_result: object = None
    """Hidden: the judgement that older versions carry."""


class RowTurn(RawPart):
    """One of `turn_records`."""

    turn: int
    user_message: Text
    assistant_response: str
    planner: object = None
    """Hidden: the rubric again, and the strategy."""


class Row(RawPart):
    """One line of `final_dialogues.jsonl`."""

    unique_id_eval: Id
    uuid: Id
    scenario_id: Id
    blueprint_id: Name
    category_key: Id
    style_combination_index: int
    evaluated_model: Name
    trigger_points: list[RowTrigger]
    turn_records: Annotated[list[RowTurn], Field(min_length=1)]
    num_turns_completed: int | None = None
    """Hidden, but where it is given it must agree with `turn_records`."""
    token_usage: object = None
    """Hidden."""
    trigger_stats: object = None
    """Hidden: counts of older versions."""

    @classmethod
    def of(cls, line: Line) -> Self:
        """The row on a line.

        Raises:
            CorpusError: The line is not JSON, a field is missing or of the wrong type, or turns and triggers
                do not fit together.
        """
        try:
            row = cls.model_validate(line.parse())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise line.error(problem_of(first), dotted(first["loc"])) from None
        for field, problem in row._misfits():
            raise line.error(problem, field)
        return row

    def dialogue(self) -> Dialogue:
        """The dialogue, with its triggers in turn order; nothing hidden and nothing unknown is in it."""
        return Dialogue(
            origin=Origin(
                dialogue=self.unique_id_eval,
                persona=self.uuid,
                scenario_id=self.scenario_id,
                blueprint=self.blueprint_id,
                life_domain=self.category_key.removesuffix("_persona"),
                style=self.style_combination_index,
                source_model=self.evaluated_model,
            ),
            turns=tuple(Turn(user=turn.user_message, assistant=turn.assistant_response) for turn in self.turn_records),
            triggers=tuple(_trigger(point) for point in sorted(self.trigger_points, key=lambda point: point.turn)),
        )

    def unknown_fields(self) -> Counter[str]:
        """How often each field that the format does not know is given, by dotted name; nulls do not count."""
        counts = Counter(unknown_in(self))
        for turn in self.turn_records:
            counts.update(unknown_in(turn, "turn_records"))
        for point in self.trigger_points:
            counts.update(unknown_in(point, "trigger_points"))
            counts.update(unknown_in(point.evaluation_rubric, "trigger_points", "evaluation_rubric"))
        return counts

    def _misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever turns and triggers do not fit together."""
        last = len(self.turn_records)
        for index, turn in enumerate(self.turn_records):
            if turn.turn != index + 1:
                yield f"turn_records[{index}].turn", f"turns must be in order: {index + 1} expected, not {turn.turn}"
        if self.num_turns_completed not in {None, last}:
            yield "num_turns_completed", f"{self.num_turns_completed} disagrees with turn_records, which has {last}"
        taken: set[int] = set()
        for index, point in enumerate(self.trigger_points):
            if not 1 <= point.turn <= last:
                yield f"trigger_points[{index}].turn", f"there is no turn {point.turn}: the last one is {last}"
            if point.turn in taken:
                yield f"trigger_points[{index}].turn", f"turn {point.turn} has a trigger already: one a turn"
            taken.add(point.turn)


def _trigger(point: RowTrigger) -> Trigger:
    rubric = point.evaluation_rubric
    return Trigger(
        turn=point.turn,
        rubric=Rubric(
            phase=rubric.type,
            pass_criteria=rubric.pass_criteria,
            partial_criteria=rubric.partial_criteria,
            fail_criteria=rubric.fail_criteria,
        ),
    )


def unknown_in(part: RawPart, *path: str) -> Iterator[str]:
    """Dotted names of the fields of a part that the format does not know; nulls do not count."""
    for name, value in (part.model_extra or {}).items():
        if value is not None:
            yield dotted((*path, name))


def problem_of(error: ErrorDetails) -> str:
    """What is wrong with a field, in a sentence of ours."""
    if error["type"] == "missing":
        return "the field is missing"
    if error["type"] == "too_short":
        return "the list should not be empty"
    expected = "Input should be an object" if error["type"] == "model_type" else error["msg"]
    return f"{expected[0].lower()}{expected[1:]}, not {shown(error['input'])}"
