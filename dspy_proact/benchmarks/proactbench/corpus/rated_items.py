"""ProactBench's files of ratings: what stands in them in its own words, and files of items to rate.

A file of items is JSONL, a response to be rated a line, for what no run and no study holds.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.corpus.dialogues import rubric_of
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Response, Turn
from dspy_proact.benchmarks.ratings import RatedItem
from dspy_proact.errors import CorpusError
from dspy_proact.files.labels import BLANK
from dspy_proact.files.rows import Id, Name, Part, Text, lines_in, lines_of


def _word(value: object, kind: type[Phase] | type[Grade], problem: str) -> Phase | Grade:
    word = value.strip().upper() if isinstance(value, str) else value
    if word not in tuple(kind):
        raise PydanticCustomError("word", problem)  # pyright: ignore[reportArgumentType] - a literal of ours
    return kind(word)


_Phase = BeforeValidator(partial(_word, kind=Phase, problem="A phase is EMERGENT, CRITICAL or RECOVERY"))
_Grade = BeforeValidator(partial(_word, kind=Grade, problem="A grade is PASS, PARTIAL or FAIL"))
PhaseWord = Annotated[Phase, _Phase]
"""A phase in any case."""
GradeWord = Annotated[Annotated[Grade, _Grade] | None, BLANK]
"""PASS, PARTIAL or FAIL in any case; null and blanks are None."""


def rated_item(
    key: str,
    view: JudgeView,
    response: str,
    scenario: str = "",
    persona: str = "",
    *,
    judge: Grade | None = None,
    model: str = "",
) -> RatedItem:
    """A response that people rated, with what a judge sees of it."""
    known = {"persona": persona, "response_model": model, "turn": view.turn}
    return RatedItem(
        key,
        scenario,
        view.rubric.phase,
        response,
        view,
        Response(text=response),
        judged={"": judge} if judge else {},
        meta={name: value for name, value in known.items() if value},
    )


class ItemRubric(Part):
    """`rubric` of an item in a file of ours."""

    phase: PhaseWord
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class ItemTurn(Part):
    """One of `conversation`."""

    user: Text
    assistant: str | None = None


class ItemRow(Part):
    """One line of a file of items."""

    item: Id
    rubric: ItemRubric
    conversation: Annotated[list[ItemTurn], Field(min_length=1)]
    response: str
    turn: int | None = None
    """What the conversation has anyhow; where it is given it must agree."""
    judge: GradeWord = None
    scenario: Name = ""
    persona: Name = ""
    model: Name = ""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever another than the last turn awaits its response, or the turn is not the last."""
        last = len(self.conversation)
        for number, turn in enumerate(self.conversation, start=1):
            where = f"conversation[{number - 1}].assistant"
            if number < last and turn.assistant is None:
                yield where, "missing: only the last turn awaits its response"
            if number == last and turn.assistant is not None:
                yield where, "the last turn awaits its response, which stands in response; leave it out"
        if self.turn not in {None, last}:
            yield "turn", f"{self.turn} disagrees with conversation, which has {last} turns"

    def rated_item(self) -> RatedItem:
        """The item."""
        turns = tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in self.conversation)
        view = JudgeView(conversation=turns, turn=len(turns), rubric=rubric_of(self.rubric.phase, self.rubric))
        origin = self.scenario, self.persona
        return rated_item(self.item, view, self.response, *origin, judge=self.judge, model=self.model)


def items_in(data: bytes, source: str) -> tuple[RatedItem, ...]:
    """The items of a file, in its order; a `CorpusError` where it is at fault, or an item is given twice."""
    items: list[RatedItem] = []
    first_lines: dict[str, int] = {}
    for line in lines_in(lines_of(data, source), source, "item"):
        row = ItemRow.of(line)
        if (first := first_lines.setdefault(row.item.strip(), line.number)) != line.number:
            raise line.error(f"the same item stands on line {first}; keep one of the two", "item")
        items.append(row.rated_item())
    if not items:
        raise CorpusError("empty: there is no item in it", source=source)
    return tuple(items)
