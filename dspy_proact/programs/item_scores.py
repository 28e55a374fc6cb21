"""What every item of a compile scored out of fold, before and after: all that the numbers of its card are made of.

It holds no keys, no names of people and no texts. Sequences align with the items, in the order of the data.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dspy_proact.types import Frozen

CONTROL_CASE = -1
"""Stratum of a control case."""
Numbers = tuple[float | None, ...]
"""Of the items; None where one is not known, or the item has none of this kind."""
_Count = Annotated[int, Field(ge=0, le=10**12)]
Tokens = tuple[_Count, _Count] | None
"""Of the prompt and the answer of a call; None where the provider counted none."""

_LARGEST = 1e100
"""Number whose sums and squares are still finite."""

Kind = Literal["score", "measure", "rate", "controls", "length", "tokens"]
"""Of a number of an assistant.

`score`: of cases that are no controls, in [0, 1]; `measure` and `rate`: of cases that it was tuned for, higher and
lower is better; `controls`: harm at control cases, in [0, 1]; `length`: words of cases that are no controls; `tokens`:
of all.
"""


class ScoreColumn(Frozen):
    """A number of items; which have it, which way is worse and by how much it may get worse is decided by its kind."""

    kind: Kind
    name: str
    """By which a guard names it."""
    title: str
    before: Numbers
    after: Numbers

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if self.kind in ("score", "controls") and not are_shares((*self.before, *self.after)):
            raise ValueError(f"{self.name!r} is not in [0, 1]")
        if any(abs(number) > _LARGEST for number in (*self.before, *self.after) if number is not None):
            raise ValueError(f"{self.name!r} has a number beyond {_LARGEST:g}")
        return self

    @property
    def measured(self) -> bool:
        """Whether it is a measure that the benchmark declares."""
        return self.kind in ("measure", "rate")


class GradedPart(Frozen):
    """A part of the grading of a judge that people grade too."""

    name: str
    """Empty for the grading as a whole."""
    levels: tuple[str, ...] = Field(min_length=2)
    """From worst to best on an ordinal scale; in any order on a nominal one."""
    scale: Literal["ordinal", "nominal"]
    grades: tuple[tuple[tuple[int, int], ...], ...]
    """People's grades, each as the number of the rater and the index of the level; none where nobody graded it."""
    before: tuple[int | None, ...]
    """Level of the judge before; None where its verdict could not be read."""
    after: tuple[int | None, ...]

    @model_validator(mode="after")
    def _has_its_levels(self) -> Self:
        levels = [*(level for own in self.grades for _, level in own), *filter(None, (*self.before, *self.after))]
        if not all(0 <= level < len(self.levels) for level in levels):
            raise ValueError(f"a level of {self.name or 'the grading'} is none of its {len(self.levels)}")
        if any(len(dict(own)) < len(own) for own in self.grades):
            raise ValueError(f"a rater graded {self.name or 'an item'} twice")
        return self

    @property
    def shares(self) -> list[tuple[float, ...]]:
        """Share of people's grades at each level, by item; empty where nobody graded it."""
        grades, levels = [[level for _, level in own] for own in self.grades], range(len(self.levels))
        return [tuple(own.count(level) / len(own) for level in levels) if own else () for own in grades]


class ItemScores(Frozen):
    """The scores of all items: of an assistant by columns, of a judge by the parts that people grade."""

    strata: tuple[str, ...]
    """Names, in the benchmark's order."""
    tuned_for: tuple[int, ...] = ()
    """Of an assistant: the strata, by their index in `strata`, that it was tuned for."""
    votes: int = Field(default=1, ge=1)
    """Answers to each item."""
    groups: tuple[int, ...] = Field(min_length=1)
    """Number of the group of each item; items of one group are not independent."""
    folds: tuple[int, ...]
    """Number of the fold in which each item was tested."""
    stratum: tuple[int, ...]
    """Of each item, by its index in `strata`; -1 for a control case."""
    columns: tuple[ScoreColumn, ...] = ()
    parts: tuple[GradedPart, ...] = ()
    evidence_before: tuple[tuple[bool, ...], ...] = ()
    """Of each verdict with a quote, by item: whether it stands in the answer. Empty of an assistant."""
    evidence_after: tuple[tuple[bool, ...], ...] = ()
    calls_before: tuple[tuple[Tokens, ...], ...]
    """Tokens of the calls that the answers to each item took, repairs included."""
    calls_after: tuple[tuple[Tokens, ...], ...]

    @model_validator(mode="after")
    def _align(self) -> Self:
        per_item = [self.folds, self.stratum, self.calls_before, self.calls_after]
        per_item += [column for own in self.columns for column in (own.before, own.after)]
        per_item += [column for own in self.parts for column in (own.grades, own.before, own.after)]
        per_item += [own for own in (self.evidence_before, self.evidence_after) if own]
        if {len(own) for own in per_item} != {len(self.groups)}:
            raise ValueError(f"not everything is there of each of the {len(self.groups)} items")
        if not all(CONTROL_CASE <= index < len(self.strata) for index in self.stratum):
            raise ValueError("the stratum of an item is none of `strata`")
        if not {*self.tuned_for} <= {*range(len(self.strata))}:
            raise ValueError("what it was tuned for is none of `strata`")
        if bool(self.parts) == bool(self.columns) or (self.columns and self.columns[0].kind != "score"):
            raise ValueError("either columns, the score first, or parts that people grade")
        if self.parts and self.controls:
            raise ValueError("a judge has no control cases")
        if self.parts and not all(map(any, zip(*(part.grades for part in self.parts), strict=True))):
            raise ValueError("nobody graded an item")
        return self

    @property
    def controls(self) -> list[int]:
        """Indices of the control cases."""
        return [index for index, stratum in enumerate(self.stratum) if stratum == CONTROL_CASE]

    @property
    def graded(self) -> list[int]:
        """Indices of the items that are no controls."""
        return [index for index, stratum in enumerate(self.stratum) if stratum != CONTROL_CASE]

    @property
    def tuned(self) -> list[int]:
        """Indices of the items that it was tuned for: of a judge all."""
        strata = self.tuned_for if self.columns else range(len(self.strata))
        return [index for index, stratum in enumerate(self.stratum) if stratum in strata]

    def in_stratum(self, stratum: int) -> list[int]:
        """Indices of the items of a stratum, by its index in `strata`."""
        return [index for index, own in enumerate(self.stratum) if own == stratum]

    def of(self, column: ScoreColumn) -> list[int]:
        """Indices of the items that have a number in a column."""
        if column.kind == "tokens":
            return [*range(len(self.groups))]
        return self.tuned if column.measured else self.controls if column.kind == "controls" else self.graded

    @property
    def raters(self) -> int:
        """People whose grades a judge was tuned to."""
        return len({rater for part in self.parts for own in part.grades for rater, _ in own})

    @property
    def aim(self) -> str:
        """What it was tuned for."""
        if self.parts:
            return "agreement with people"
        every = len(self.tuned_for) == len(self.strata)
        return "score" if every else ", ".join(self.strata[index] for index in self.tuned_for)

    @property
    def is_kappa(self) -> bool:
        """Whether people grade answers as a whole, on three levels or more or on a nominal scale: then it is kappa."""
        if len(self.parts) != 1:
            return False
        part = self.parts[0]
        return not part.name and (part.scale == "nominal" or len(part.levels) >= 3)

    @property
    def unscored(self) -> int:
        """Items left out of their number because a verdict on them could not be read, before or after."""
        if self.parts:
            of_items = [(part, [index for index, own in enumerate(part.grades) if own]) for part in self.parts]
        else:
            of_items = [(own, self.of(own)) for own in self.columns if own.kind in ("score", "controls")]
        rows = ((index, own.before[index], own.after[index]) for own, indices in of_items for index in indices)
        return len({index for index, *sides in rows if None in sides})

    @property
    def evidence(self) -> dict[str, tuple[int, int]]:
        """How many of how many verdicts have a quote that stands in the answer, before and after."""
        kinds = {"evidence before": self.evidence_before, "evidence after": self.evidence_after}
        checks = {name: [check for of_item in own for check in of_item] for name, own in kinds.items()}
        return {name: (sum(own), len(own)) for name, own in checks.items() if own}


def numbered_once(names: Iterable[str]) -> tuple[int, ...]:
    """Names as numbers, counted in the order in which they first appear."""
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(name, len(numbers)) for name in names)


def are_shares(numbers: Iterable[float | None]) -> bool:
    """Whether the numbers that are known are all in [0, 1], and not counts or lengths."""
    return all(0 <= number <= 1 for number in numbers if number is not None)


def pick(values: Sequence[float | None], indices: Sequence[int]) -> list[float | None]:
    """The values at some indices."""
    return [values[index] for index in indices]
