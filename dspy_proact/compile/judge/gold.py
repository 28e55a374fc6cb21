"""Worked examples of labelled items: what a judge that agrees with people would have answered."""

from collections.abc import Mapping, Sequence

import dspy

from dspy_proact.compile.judge.labels import Labelled
from dspy_proact.types import Verdict


class Gold:
    """Makes worked examples out of labels and of verdicts that were given before.

    The grade is the people's consensus, the reasoning that of a person who gave it, or else the judge's where it gave
    it too. The quotes are those of the judge that stand in the response, whatever its grade: what they quote is there.

    Args:
        before: Verdicts of the judge that a compile starts from, by item; None where it gave none.
    """

    def __init__(self, before: Mapping[str, Verdict | None]):
        self._before = before

    def examples(self, items: Sequence[Labelled]) -> list[dspy.Example]:
        """One worked example an item, aligned; it holds signature fields and the item's key."""
        return [self._example(item) for item in items]

    def _example(self, item: Labelled) -> dspy.Example:
        grade, before = item.consensus, self._before.get(item.key)
        reasons = [rating.reason.strip() for rating in item.ratings if rating.grade is grade and rating.reason.strip()]
        if not reasons and before is not None and before.grade is grade:
            reasons = [before.reasoning]
        quotes = [quote.text for quote in (before.evidence if before else ()) if quote.start is not None]
        answer = {"reasoning": next(iter(reasons), f"People graded this response {grade}."), "evidence": quotes}
        example = dspy.Example(**dict(item.example.items()), **answer, grade=str(grade))
        return example.with_inputs("conversation", "turn", "rubric", "response")
