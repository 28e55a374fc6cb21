"""Items in a file of ours: JSONL, a rated response a line, for ratings of what no run and no study holds."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dspy_proact.corpus.line import Line, dotted
from dspy_proact.corpus.ratings.rated_item import PhaseWord, RatedItem
from dspy_proact.corpus.ratings.rating import GradeWord
from dspy_proact.corpus.row import Id, Name, Text, problem_of
from dspy_proact.corpus.text_file import lines_of, read_bytes
from dspy_proact.errors import CorpusError
from dspy_proact.types import Rubric, Turn
from dspy_proact.views import JudgeView

WANTED = (
    "a JSONL file of items: item, rubric, conversation and response, with turn, judge, scenario and persona if known"
)


class _Part(BaseModel):
    """Of a file of ours: no coercion, and no field that we do not know."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ItemRubric(_Part):
    """`rubric`."""

    phase: PhaseWord
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class ItemTurn(_Part):
    """One of `conversation`."""

    user: Text
    assistant: str | None = None


class ItemRow(_Part):
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

    @classmethod
    def of(cls, line: Line) -> "ItemRow":
        """The row on a line; raises `CorpusError` where it is at fault."""
        if line.text.lstrip()[:1] != "{":
            raise line.error("a line must hold one item as a JSON object")
        try:
            row = cls.model_validate(line.parse())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = "no field of ours" if first["type"] == "extra_forbidden" else problem_of(first)
            raise line.error(problem, dotted(first["loc"])) from None
        for index, turn in enumerate(row.conversation):
            where = f"conversation[{index}].assistant"
            if index + 1 < len(row.conversation) and turn.assistant is None:
                raise line.error("missing: only the last turn awaits its response", where)
            if index + 1 == len(row.conversation) and turn.assistant is not None:
                raise line.error("the last turn awaits its response, which stands in response; leave it out", where)
        if row.turn not in {None, len(row.conversation)}:
            raise line.error(f"{row.turn} disagrees with conversation, which has {len(row.conversation)} turns", "turn")
        return row

    def rated_item(self) -> RatedItem:
        """The item."""
        view = JudgeView(
            conversation=tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in self.conversation),
            turn=len(self.conversation),
            rubric=Rubric(**self.rubric.model_dump()),
        )
        return RatedItem(
            key=self.item,
            phase=self.rubric.phase,
            scenario=self.scenario,
            persona=self.persona,
            judge=self.judge,
            view=view,
            response=self.response,
            turn=view.turn,
            model=self.model,
        )


def read_rated_items(path: str | Path) -> tuple[RatedItem, ...]:
    """The items of a file, in its order.

    Raises:
        CorpusError: The file is missing, unreadable, not UTF-8 or empty, a line is at fault, or an item is given twice.
    """
    return items_of(read_bytes(str(path), WANTED), str(path))


def items_of(data: bytes, source: str) -> tuple[RatedItem, ...]:
    """The items of a file's contents; raises as `read_rated_items` does."""
    rows: dict[str, tuple[int, ItemRow]] = {}
    for number, text in enumerate(lines_of(data, source), start=1):
        line = Line(source, number, text.removeprefix("\ufeff") if number == 1 else text)
        if not line.text.strip():
            continue
        row = ItemRow.of(line)
        first, _ = rows.setdefault(row.item.strip(), (number, row))
        if first != number:
            raise line.error(f"the same item stands on line {first}; keep one of the two", "item")
    if not rows:
        raise CorpusError("empty: there is no item in it", source=source)
    return tuple(row.rated_item() for _, row in rows.values())
