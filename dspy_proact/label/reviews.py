"""Reviews of a corpus in the file of their study: what is reviewed, what reviewers give, what the owner decides.

A verdict is kept as a grade is, in the same log, so that undoing, repeating a write and being killed are what they are
for ratings. Edits stand beside it, and the corpus is not touched.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, TypeAdapter
from pydantic_core import from_json

from dspy_proact.evaluation.people import Part
from dspy_proact.evaluation.reviewing import OWNER, REALISM_QUESTIONS, VERDICTS, Realism, Review, ReviewItem
from dspy_proact.label.store import Store, undamaged
from dspy_proact.label.study import LONGEST_REASON, LONGEST_SECONDS, Kind, Rating, Submission

_PART = Part("", VERDICTS, "nominal")
_EDITS = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class ReviewSubmission(Submission):
    """What somebody gives to an item of a corpus: a review, whose grade is the verdict, or a skip without one."""

    edits: Annotated[
        dict[str, str], BeforeValidator(lambda value: from_json(value) if isinstance(value, str) else value)
    ] = field(default_factory=dict[str, str])
    """New texts by name of the field."""
    happens: Literal["", Realism] = ""
    """Empty for a skip."""
    reads_like_test: Literal["", Realism] = ""
    """Likewise."""


@dataclass(frozen=True)
class CorpusItem:
    """An item of a corpus, as the file of a study keeps it and a reviewer reads it."""

    item: ReviewItem
    run: str = ""
    part: Part = _PART

    @property
    def key(self) -> str:
        """16 hex digits over its key in the corpus, which may hold anything."""
        return hashlib.sha256(f"review\0{self.item.key}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def case(self) -> str:
        """Its key in the corpus."""
        return self.item.key

    @property
    def mark(self) -> str:
        """That of everything that is read."""
        return self.item.mark

    def review(self, submission: ReviewSubmission, reviewer: str = "") -> Review:
        """A submission that is no skip as a review; its edits without those that change nothing."""
        return Review(
            reviewer=reviewer,
            item=self.item.key,
            mark=self.mark,
            verdict=submission.grade,  # pyright: ignore[reportArgumentType]  # pydantic refuses others
            edits=self.item.differing(submission.edits),
            reason=submission.reason,
            happens=submission.happens or None,
            reads_like_test=submission.reads_like_test or None,
            seconds=submission.seconds,
        )

    def misfit(self, submission: ReviewSubmission) -> str | None:
        """Why a review or a skip cannot be kept, a sentence; None where it can."""
        if not 0 <= submission.seconds <= LONGEST_SECONDS:
            return "The time is none within a day."
        if len(submission.reason) > LONGEST_REASON:
            return f"The reason has more than {LONGEST_REASON:,} characters."
        if not submission.grade:
            return None if submission.reason else "A skip has a reason."
        if submission.grade not in VERDICTS:
            return "There is no such verdict."
        if missing := [question for name, question in REALISM_QUESTIONS.items() if not getattr(submission, name)]:
            return f"{missing[0]} has no answer."
        return self.item.misfit(self.review(submission))


class ReviewStore(Store):
    """The file of a study in which a corpus is reviewed."""

    kinds: ClassVar[tuple[Kind, ...]] = ("reviews",)
    source: ClassVar[str] = (
        "of the corpus; put it back as it was when the study began, or begin another study with another file"
    )
    _beside: ClassVar[str] = (
        "INSERT INTO reviews SELECT number, :edits, :happens, :reads_like_test FROM log "
        "WHERE rater = :rater AND key = :key ON CONFLICT (number) DO NOTHING"
    )

    def _row(self, submission: Submission) -> dict[str, Any]:
        row = super()._row(submission)
        return row | {"edits": json.dumps(row["edits"])}

    def answers(self, number: int) -> Mapping[str, Any]:
        """What a row of the log says beside the verdict: its edits and the two answers; of what was undone too."""
        row = self._db.row("SELECT edits, happens, reads_like_test FROM reviews WHERE number = ?", number)
        return {**row, "edits": _EDITS.validate_json(row["edits"])}

    def numbered(self) -> tuple[tuple[int, Review], ...]:
        """Every review that stands with its number in the log, in the order in which they were given."""
        rows = self._db.execute(
            'SELECT number, given.rater AS reviewer, given."case" AS item, mark, grade AS verdict, edits, reason, '
            "happens, reads_like_test, seconds, time FROM given JOIN reviews USING (number) JOIN items USING (item) "
            "WHERE grade <> '' ORDER BY number"
        )
        with undamaged(self.path):
            return tuple((row["number"], _review_of(dict(row))) for row in rows)

    def decisions(self) -> tuple[Review, ...]:
        """What the owner decided last on each item of which something was decided."""
        marks = {item: (case, mark) for item, case, mark in self._db.execute('SELECT item, "case", mark FROM items')}
        decided = list[Review]()
        with undamaged(self.path):
            for item, choice in self.adjudications().items():
                verdict, _, number = choice.grade.partition(" ")
                edits = self.answers(int(number))["edits"] if number else {}
                key, mark = marks[item]
                values = {"item": key, "mark": mark, "verdict": verdict, "edits": edits, "reason": choice.reason}
                decided.append(Review.model_validate({**values, "reviewer": OWNER, "decision": True}))
        return tuple(decided)

    def undone(self, rating: Rating) -> ReviewSubmission:
        """A review that was undone, as its form has it."""
        named = ("item", "grade", "key", "reason", "seconds", "repeated")
        return ReviewSubmission(**{name: getattr(rating, name) for name in named}, **self.answers(rating.number))


def _review_of(row: dict[str, Any]) -> Review:
    """A review from a row of the file."""
    del row["number"]
    answers = {name: row[name] or None for name in REALISM_QUESTIONS}
    return Review.model_validate(row | answers | {"edits": _EDITS.validate_json(row["edits"])})


def reviews_of(path: Path) -> tuple[Review, ...]:
    """The reviews in the file of a study, in the order in which they were given, and after them the owner's decisions.

    Raises a `UsageError` where it is none of reviews, or damaged.
    """
    with closing(ReviewStore.open(path)) as store:
        return (*(review for _, review in store.numbered()), *store.decisions())
