"""What rows are graded on: the scale and the criteria that a person names, and the values of a row and its grade."""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from dspy_proact.runs import Settings
from dspy_proact.types import Frozen, Quote

SAMPLE_SCALE = ("bad", "ok", "good", "great")
"""Of the bundled sample, from worst to best."""
_MOST_LEVELS, _LONGEST_LEVEL = 20, 60
_TWO = "a scale has two levels or more, separated by commas, such as bad,ok,good"


def _levels(value: Any) -> Any:
    """The levels of a text: a JSON list where it looks like one, so that a level may hold a comma."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        levels = json.loads(text) if text.startswith("[") else text.split(",")
    except ValueError:
        raise ValueError(f"{_TWO}, or a JSON list") from None
    return tuple(level.strip() if isinstance(level, str) else str(level) for level in levels)


class RowSettings(Settings):
    """The settings of rows of one's own."""

    of_grading: ClassVar[frozenset[str]] = frozenset({"scale", "nominal", "criteria"})
    of_ratings: ClassVar[frozenset[str]] = frozenset({"scale", "nominal", "criteria", "columns"})
    scale: Annotated[tuple[str, ...], BeforeValidator(_levels)] = ()
    """Levels from worst to best, such as bad,ok,good; without any, those of the sample."""
    nominal: bool = False
    """Whether the levels have no order, so that no mean score is made of them."""
    criteria: str = ""
    """What is graded and what the levels mean, once for all rows; empty to grade by the words of the scale alone."""
    columns: tuple[tuple[str, str], ...] = Field(default=(), exclude=True)
    """What is what in the table: pairs of a role and a column."""

    @field_validator("scale")
    @classmethod
    def _is_scale(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        if not levels:
            return levels
        if not 2 <= len(levels) <= _MOST_LEVELS:
            raise ValueError(f"{_TWO}; at most {_MOST_LEVELS}, not {len(levels)}")
        if "" in levels:
            raise ValueError(f"{_TWO}; one of these is empty")
        if wrong := next((one for one in levels if len(one) > _LONGEST_LEVEL or not one.isprintable()), None):
            raise ValueError(f"a level has at most {_LONGEST_LEVEL} characters, all on one line; one is {wrong[:80]!r}")
        folded = [level.casefold() for level in levels]
        if twice := next((one for one, own in zip(levels, folded, strict=True) if folded.count(own) > 1), None):
            raise ValueError(f"the level {twice!r} is given twice; upper and lower case are the same")
        return levels

    @property
    def levels(self) -> tuple[str, ...]:
        """Those of the scale, from worst to best."""
        return self.scale or SAMPLE_SCALE

    @property
    def is_default(self) -> bool:
        """Whether labels are those of the sample."""
        return self.levels == SAMPLE_SCALE and not self.nominal and not self.criteria

    def applied_to(self, declared: Any) -> Any:
        """The benchmark with these levels and criteria."""
        return declared.graded_by(self)

    def score_of(self, level: str) -> float:
        """By equal steps from 0, the worst, to 1; on a nominal scale 0, which nothing is made of."""
        return 0.0 if self.nominal else self.levels.index(level) / (len(self.levels) - 1)


class Message(Frozen):
    """One message before the response. Names and order of the fields are prompt text."""

    role: Literal["system", "user", "assistant"]
    content: str


class Shown(Frozen):
    """A further column of a row, which judge and raters see. Names and order of the fields are prompt text."""

    name: str
    text: str


class RowView(Frozen):
    """What is seen of a row beside the response."""

    conversation: tuple[Message, ...]
    """Up to the user's message that is responded to."""
    context: tuple[Shown, ...] = ()
    """Shown to judge and raters, never to the assistant under test."""


class RowReply(Frozen):
    """A response."""

    text: str
    truncated: bool = False
    """Whether it was cut at the token limit."""


class RowVerdict(Frozen):
    """What a judge says of a response."""

    reasoning: str
    evidence: tuple[Quote, ...] = ()
