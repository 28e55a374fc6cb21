"""Rated items: what a judge is tuned to, and the examples that an optimizer gets of them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from dspy_proact.benchmarks.proactbench.compile.texts import tamed
from dspy_proact.benchmarks.proactbench.corpus import Ratings
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating, Verdict
from dspy_proact.benchmarks.proactbench.views import JudgeView, dialogue_mark
from dspy_proact.compile.folds import units_of
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import tame

LEVELS = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
"""Grades in rising order; a level is a place in it."""
TIES = (Grade.PARTIAL, Grade.PASS, Grade.FAIL)
"""Which grade is an item's commonest where several are, by the published rule."""


@dataclass(frozen=True)
class Labelled:
    """A response with people's grades."""

    key: str
    """Opaque; examples carry it and nothing else that is not a field of the judge's signature."""
    phase: Phase
    scenario: str
    unit: str
    """What folds keep together: the scenario, with all others of its personas."""
    view: JudgeView
    response: str
    ratings: tuple[Rating, ...]
    """At least one."""

    @property
    def dialogue(self) -> str:
        """A mark of the dialogue that it is from."""
        return dialogue_mark(self.view.conversation)

    @property
    def soft(self) -> tuple[float, float, float]:
        """Share of the ratings at each level: FAIL, PARTIAL, PASS."""
        counts = Counter(rating.grade for rating in self.ratings)
        fail, partial, full = (counts[grade] / len(self.ratings) for grade in LEVELS)
        return fail, partial, full

    @property
    def consensus(self) -> Grade:
        """The commonest grade."""
        counts = Counter(rating.grade for rating in self.ratings)
        return max(TIES, key=lambda grade: counts[grade])

    @property
    def example(self) -> dspy.Example:
        """The inputs of the judge, and the key."""
        return dspy.Example(
            key=self.key,
            conversation=tamed(self.view.conversation),
            rubric=self.view.rubric,
            response=tame(self.response),
        ).with_inputs("conversation", "rubric", "response")

    def worked(self, before: Verdict | None = None) -> dspy.Example:
        """The example with what a judge that agrees with people would have answered.

        The grade is the people's consensus, the reasoning that of a person who gave it, or else the judge's where it
        gave it too. The quotes are the judge's that stand in the response, whatever its grade: what they quote is
        there.

        Args:
            before: Verdict of the judge that a compile starts from; None where it gave none.
        """
        grade = self.consensus
        reasons = [rating.reason.strip() for rating in self.ratings if rating.grade is grade and rating.reason.strip()]
        if not reasons and before is not None and before.grade is grade:
            reasons = [before.reasoning]
        quotes = [quote.text for quote in (before.evidence if before else ()) if quote.start is not None]
        example = self.example
        example.reasoning = next(iter(reasons), f"People graded this response {grade}.")
        example.evidence, example.grade = quotes, str(grade)
        return example


def raters_of(items: Sequence[Labelled]) -> int:
    """How many people rated these items."""
    return len({rating.annotator for item in items for rating in item.ratings})


def labelled(ratings: Ratings) -> tuple[Labelled, ...]:
    """The items that somebody rated, in the order of the study.

    Raises:
        UsageError: No item has a rating, or the study has labels only, without conversations and responses.
    """
    by_item: defaultdict[str, list[Rating]] = defaultdict(list)
    for rating in ratings.ratings:
        by_item[rating.item].append(rating)
    rated = [item for item in ratings.items if by_item[item.key]]
    if not rated:
        raise UsageError(f"{ratings.name}: nobody has rated anything in it")
    units = units_of([(item.scenario, item.persona or "") for item in rated])
    found: list[Labelled] = []
    for item in rated:
        if item.view is None or item.response is None:
            raise UsageError(
                f"{ratings.name}: has ratings without conversations and responses, so that no judge can be tuned to "
                "it; name a folder in the official layout, or your own ratings, with --ratings"
            )
        origin = item.key, item.phase, item.scenario, units[item.scenario]
        found.append(Labelled(*origin, item.view, item.response, tuple(by_item[item.key])))
    return tuple(found)
