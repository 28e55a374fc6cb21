"""Items in a file of ours: JSONL, a rated response a line, for ratings of what no run and no study holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import PhaseWord, RatedItem
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import GradeWord
from dspy_proact.benchmarks.proactbench.corpus.row import rubric_of
from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import lines_in
from dspy_proact.files.part import Id, Name, Part, Text
from dspy_proact.files.text_file import lines_of, read_bytes

WANTED = (
    "a JSONL file of items: item, rubric, conversation and response, with turn, judge, scenario and persona if known"
)


class ItemRubric(Part):
    """`rubric`."""

    phase: PhaseWord
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class ItemTurn(Part):
    """One of `conversation`."""

    user: Text
    assistant: str | None = None


class ItemRow(Part):
    """One line."""

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
        view = JudgeView(
            conversation=tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in self.conversation),
            turn=len(self.conversation),
            rubric=rubric_of(self.rubric.phase, self.rubric),
        )
        given = self.model_dump(include={"scenario", "persona", "judge", "response", "model"})
        return RatedItem(key=self.item, phase=view.rubric.phase, view=view, turn=view.turn, **given)


def read_rated_items(path: str | Path) -> tuple[RatedItem, ...]:
    """The items of a file, in its order.

    Raises:
        CorpusError: The file is missing, unreadable, not UTF-8 or empty, a line is at fault, or an item is given twice.
    """
    return items_of(read_bytes(str(path), WANTED), str(path))


def items_of(data: bytes, source: str) -> tuple[RatedItem, ...]:
    """The items of a file's contents; raises as `read_rated_items` does."""
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
