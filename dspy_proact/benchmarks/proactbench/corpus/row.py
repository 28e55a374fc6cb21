"""A row of the official file, at the border where it stops.

What programs may see goes into a `Dialogue`; ids and grouping keys go into its `Origin`. The fields that
the format knows and nobody may see (the planner's notes, token usage, results of older versions) are
named here so that they are not counted as unknown, and are dropped unread. Field names are the corpus's.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin, Phase, Rubric, Trigger, Turn
from dspy_proact.files.part import Id, Name, Part, RawPart, Text


def rubric_of(phase: Phase, criteria: Part) -> Rubric:
    """The rubric whose three criteria a part has under our names."""
    return Rubric(phase=phase, **criteria.model_dump(include={"pass_criteria", "partial_criteria", "fail_criteria"}))


class RowRubric(RawPart):
    """`evaluation_rubric`."""

    type: Annotated[Phase, Field(strict=False)]
    """Not strict because JSON has no enumerations; nothing but the three names is accepted."""
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text

    def rubric(self) -> Rubric:
        """The rubric."""
        return rubric_of(self.type, self)


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


class DialogueRow(RawPart):
    """What a row of a corpus and one of results say of their dialogue."""

    blueprint_id: Name
    scenario_id: Id
    uuid: Id
    category_key: Id
    style_combination_index: int

    def origin(self, dialogue: str, source_model: str) -> Origin:
        """Where the dialogue of this key comes from, whose curated responses are the model's."""
        return Origin(
            dialogue=dialogue,
            persona=self.uuid,
            scenario_id=self.scenario_id,
            blueprint=self.blueprint_id,
            life_domain=self.category_key.removesuffix("_persona"),
            style=self.style_combination_index,
            source_model=source_model,
        )


class KeyedRow(RawPart):
    """The key, which is asked for before all else."""

    unique_id_eval: Id


class Row(DialogueRow, KeyedRow):
    """One line of `final_dialogues.jsonl`."""

    evaluated_model: Name
    trigger_points: list[RowTrigger]
    turn_records: Annotated[list[RowTurn], Field(min_length=1)]
    num_turns_completed: int | None = None
    """Hidden, but where it is given it must agree with `turn_records`."""
    token_usage: object = None
    """Hidden."""
    trigger_stats: object = None
    """Hidden: counts of older versions."""

    def dialogue(self) -> Dialogue:
        """The dialogue, with its triggers in turn order; nothing hidden and nothing unknown is in it."""
        points = sorted(self.trigger_points, key=lambda point: point.turn)
        return Dialogue(
            origin=self.origin(self.unique_id_eval, self.evaluated_model),
            turns=tuple(Turn(user=turn.user_message, assistant=turn.assistant_response) for turn in self.turn_records),
            triggers=tuple(Trigger(turn=point.turn, rubric=point.evaluation_rubric.rubric()) for point in points),
        )

    def misfits(self) -> Iterator[tuple[str, str]]:
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
