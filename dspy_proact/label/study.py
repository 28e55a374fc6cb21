"""The values of a study of raters, as its file gives and takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LONGEST_NAME, LONGEST_REASON, MOST_SPANS, LONGEST_SECONDS = 60, 4000, 100, 86_400.0
"""Characters of a pseudonym and of a reason, marked passages of a response, and time of a rating."""
PRACTICE_ROUND, PRACTICE_ROUNDS, PRACTICE_RIGHT = 3, 2, 2
"""Practice items of a round, rounds that a rater has at most, and right grades by which a round is passed."""
Kind = Literal["grades", "pairs"]
"""Grades of single responses, or choices between two."""


@dataclass(frozen=True)
class StudyRun:
    """A run whose responses are rated."""

    run: str
    """Its `items.run_key`."""
    path: str
    """Where its folder was when the study began."""
    draw: str | None = None
    """By what chance its cases were drawn, as the column `draw` of a sheet has it; None where they were chosen
    otherwise, so that no score can be corrected by their ratings."""


@dataclass(frozen=True)
class Study:
    """What a study is: declared once, when its file is made."""

    benchmark: str
    runs: tuple[StudyRun, ...]
    each: int
    """Ratings of every item, each by another rater."""
    raters: int
    """Raters among whom the work is divided."""
    repeated: float
    """Share of a rater's items that come again, in [0, 1]."""
    seed: int
    kind: Kind = "grades"


@dataclass(frozen=True)
class Rater:
    """A person who rates, under a pseudonym."""

    number: int
    """Counted from 1 in the order in which they came."""
    name: str
    """The pseudonym, in NFC."""


@dataclass(frozen=True)
class PracticeGrade:
    """What a rater gave to a practice item."""

    item: str
    grade: str
    correct: bool


def practice_passed(grades: Sequence[PracticeGrade]) -> bool | None:
    """Whether a rater passed a round of practice; None where the last round that they need is not finished."""
    for start in range(0, PRACTICE_ROUND * PRACTICE_ROUNDS, PRACTICE_ROUND):
        given = grades[start : start + PRACTICE_ROUND]
        if len(given) < PRACTICE_ROUND:
            return None
        if sum(each.correct for each in given) >= PRACTICE_RIGHT:
            return True
    return False


@dataclass(frozen=True)
class Place:
    """One place of a rater's slate."""

    rater: int
    item: str
    repeated: bool
    """Whether the rater is to rate the item a second time."""
    state: Literal["open", "rated", "skipped", "returned"]
    """Returned places were given back, and somebody else rates their items."""


@dataclass(frozen=True)
class Rating:
    """One rater's grade of one item. What was undone is none."""

    number: int
    """In the order in which they were given."""
    item: str
    run: str
    case: str
    part: str
    """Name of the part; empty for the grading as a whole."""
    rater: str
    """Pseudonym."""
    grade: str
    confidence: int
    """1 to 5."""
    reason: str
    """Empty where none is given."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each passage of the response that decided, in characters."""
    seconds: float
    """Time taken, without pauses; 0 where it is not known."""
    time: float
    """Seconds since the epoch."""
    repeated: bool
    """Whether it is a planned second rating by the same rater."""


@dataclass(frozen=True)
class Adjudication:
    """A grade of the owner's for an item, beside its ratings."""

    grade: str
    reason: str


@dataclass(frozen=True)
class Given:
    """What a rater gives to an item; a skip where the grade is None."""

    item: str
    grade: str | None
    key: str
    """Idempotency key: a second write with it is none."""
    confidence: int | None = None
    reason: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0
    repeated: bool = False
    time: float | None = None
    """When it was given, in seconds since the epoch; None for now."""
