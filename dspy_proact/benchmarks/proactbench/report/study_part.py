"""One phase of a study of raters and a judge, or all of it, with every number that is told of it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from dspy_proact.benchmarks.proactbench.corpus import RatedItem
from dspy_proact.benchmarks.proactbench.report.published_rule import PublishedRule, excludes, published_rule
from dspy_proact.benchmarks.proactbench.types import Grade, Rating
from dspy_proact.report.numbers import counted
from dspy_proact.stats import (
    AlphaMetric,
    AltTest,
    Estimate,
    HumanReference,
    Judged,
    Panel,
    Standing,
    Weight,
    alpha_estimate,
    alt_test,
    human_reference,
    majority,
    standings,
)

Consensus = Literal["published", "soft"]
LABELS = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
"""In rising order."""
TIES = (Grade.PARTIAL, Grade.PASS, Grade.FAIL)
"""Which grade wins a tie, by the published rule."""
EPSILON = 0.15
"""Of the alt-test: people with training, but no experts."""

UNJUDGED = "the judge's grades of these items are not known"
_ONE_LABEL = "needs one label an item: --consensus published"


@dataclass(frozen=True)
class Choices:
    """What of a study is counted, and how."""

    consensus: Consensus = "published"
    """Which label an item gets: the commonest grade, or the share of each."""
    min_ratings: int = 1
    """Items with fewer ratings are left out of everything that compares the judge with people; alpha keeps them."""
    exclude: bool = False
    """Whether raters are left out by the published rule, which is circular."""


@dataclass(frozen=True)
class Rated:
    """An item with its ratings, at least one."""

    item: RatedItem
    ratings: tuple[Rating, ...]

    @property
    def grades(self) -> list[Grade]:
        """Of its ratings, aligned with them."""
        return [rating.grade for rating in self.ratings]

    @property
    def raters(self) -> list[str]:
        """Who gave them, aligned with them."""
        return [rating.annotator for rating in self.ratings]


@dataclass(frozen=True)
class Part:
    """One phase of a study, or all of it. Items without a scenario count as one scenario."""

    rated: Sequence[Rated]
    """Items with at least one rating."""
    choices: Choices

    @property
    def ratings(self) -> int:
        """Of all items of the part."""
        return sum(len(each.ratings) for each in self.rated)

    @property
    def paired(self) -> int:
        """Ratings of items that have two or more, which alone say how far people agree."""
        return sum(len(each.ratings) for each in self.rated if len(each.ratings) > 1)

    @cached_property
    def enough(self) -> list[Rated]:
        """Items with enough ratings."""
        return [each for each in self.rated if len(each.ratings) >= self.choices.min_ratings]

    @cached_property
    def compared(self) -> list[Rated]:
        """Items with enough ratings and a judge's grade."""
        return [each for each in self.enough if each.item.judge is not None]

    @property
    def judge(self) -> list[Grade]:
        """The judge's grade of each item that is compared."""
        return [each.item.judge for each in self.compared if each.item.judge is not None]

    @property
    def silence(self) -> str:
        """Why nothing is compared."""
        if not self.rated:
            return "no ratings"
        return UNJUDGED if self.enough else f"no item with {self.choices.min_ratings} ratings"

    @cached_property
    def consensus(self) -> list[Grade]:
        """The commonest grade of each item that is compared, ties by the published rule."""
        found = (majority(each.grades, TIES) for each in self.compared)
        return [grade for grade in found if isinstance(grade, Grade)]

    @cached_property
    def confusion(self) -> list[list[float]]:
        """Items by people's grade (row) and the judge's (column): FAIL, PARTIAL, PASS; shares of items where soft."""
        table = [[0.0] * len(LABELS) for _ in LABELS]
        for each, judge, grade in zip(self.compared, self.judge, self.consensus, strict=True):
            given = each.grades if self.choices.consensus == "soft" else [grade]
            for one in given:
                table[LABELS.index(one)][LABELS.index(judge)] += 1 / len(given)
        return table

    @property
    def counts(self) -> list[list[float]]:
        """The confusion with whole numbers where an item has one label, else to six digits."""
        digits = None if self.choices.consensus == "published" else 6
        return [[round(count, digits) for count in row] for row in self.confusion]

    def alpha(self, metric: AlphaMetric) -> Estimate:
        """Krippendorff's alpha of people among themselves, over all ratings."""
        return alpha_estimate(_panel(self.rated), metric, _scenarios(self.rated))

    def kappa(self, weight: Weight) -> Estimate:
        """Cohen's kappa of people and the judge."""
        soft = self.choices.consensus == "soft" and weight == "quadratic"
        return (self._compared if soft else self._labelled)(lambda: self._beside.kappa(weight))

    def ac(self, weight: Weight) -> Estimate:
        """Gwet's AC1 (`none`) or AC2 (`quadratic`) of people and the judge."""
        return self._labelled(lambda: self._beside.ac(weight))

    def recall(self, grade: Grade) -> Estimate:
        """Share of what people call a grade that the judge calls it too."""
        return self._labelled(lambda: self._recall(grade))

    @cached_property
    def exact(self) -> Estimate:
        """Share of items at which people and the judge give the same grade; where soft, of single ratings."""
        return self._compared(self._beside.exact)

    @cached_property
    def reference(self) -> HumanReference:
        """One person against another by leave-one-out references, and the judge by the same on the same items.

        Where no judge is known, one person against another on all items with enough ratings.
        """
        return self._reference(within=False)

    @cached_property
    def within(self) -> HumanReference:
        """The same within phases, averaged over them, each by its items: what a phase's level adds is left out."""
        return self._reference(within=True)

    @cached_property
    def constant(self) -> Estimate:
        """Pooled kappa with one person of a judge that reads nothing and gives each phase its commonest grade."""
        given = defaultdict[str, Counter[Grade]](Counter)
        for each in self.compared:
            given[each.item.phase].update(each.grades)
        grades = [given[each.item.phase].most_common(1)[0][0] for each in self.compared]
        return self._compared(lambda: human_reference(_judged(self.compared, grades)).judge)

    def _reference(self, within: bool) -> HumanReference:
        # One person against another does not depend on what the judge says, so any grade stands for it.
        of, judge = (self.compared, self.judge) if self.compared else (self.enough, LABELS[:1] * len(self.enough))
        found = human_reference(_judged(of, judge), strata=[each.item.phase for each in of] if within else None)
        if self.compared:
            return found
        missing = Estimate(None, reason=self.silence)
        return replace(found, judge=missing, difference=missing, low98=None, high98=None, exact_judge=missing)

    @cached_property
    def bias(self) -> Estimate:
        """Mean score of the judge minus that of people, in [-1, 1]: above 0 the judge is the more lenient."""
        return self._compared(lambda: self._beside.bias([grade.score for grade in LABELS]))

    @cached_property
    def alt_test(self) -> AltTest | None:
        """The judge against each person in turn; None where nothing is compared."""
        return alt_test(self._beside, epsilon=EPSILON) if self.compared else None

    @cached_property
    def standings(self) -> list[Standing]:
        """Where each person stands among the others, on all items, and to the judge, on those that are compared."""
        # As above, nobody's standing among the others depends on the judge.
        people = standings(_judged(self.rated, LABELS[:1] * len(self.rated)))
        judged = {each.rater: each.against_judge for each in self._judged}
        missing = Estimate(None, reason=UNJUDGED)
        return [replace(each, against_judge=judged.get(each.rater, missing)) for each in people]

    @cached_property
    def excluded(self) -> list[str]:
        """The people whom the published rule leaves out."""
        return [str(each.rater) for each in self._judged if excludes(each)]

    @cached_property
    def published(self) -> PublishedRule:
        """The statistics of the published study, by its own rules, on items with a judge's grade."""
        pairs = [(each.grades, each.item.judge) for each in self.rated if each.item.judge is not None]
        grades, judge = [given for given, _ in pairs], [judge for _, judge in pairs]
        return published_rule(grades, judge, LABELS, TIES, min_ratings=self.choices.min_ratings)

    @cached_property
    def _judged(self) -> list[Standing]:
        """Where each person stands to the judge, on the items that are compared."""
        return standings(self._beside)

    @cached_property
    def _beside(self) -> Judged:
        """The judge beside people, on the items that are compared."""
        return _judged(self.compared, self.judge, TIES if self.choices.consensus == "published" else None)

    def _recall(self, grade: Grade) -> Estimate:
        return self._beside.recall(LABELS.index(grade))

    def _compared(self, estimate: Callable[[], Estimate]) -> Estimate:
        return estimate() if self.compared else Estimate(None, reason=self.silence)

    def _labelled(self, estimate: Callable[[], Estimate]) -> Estimate:
        one_label = self.choices.consensus == "published"
        return self._compared(estimate if one_label else lambda: Estimate(None, reason=_ONE_LABEL))


def _scenarios(rated: Sequence[Rated]) -> list[str]:
    return [each.item.scenario for each in rated]


def _panel(rated: Sequence[Rated]) -> Panel:
    return Panel.of([each.grades for each in rated], LABELS, [each.raters for each in rated])


def _judged(rated: Sequence[Rated], judge: Sequence[Grade], ties: Sequence[Grade] | None = None) -> Judged:
    return Judged.of(_panel(rated), judge, LABELS, _scenarios(rated), ties)


_TOLD = 10
"""Items that a terminal shows."""
_LONGEST_REASON = 400
"""Characters of a reason there."""


@dataclass(frozen=True)
class Parting:
    """An item on which the judge's score is another than the mean of people's."""

    item: RatedItem
    judge: Grade
    reasons: tuple[str, ...]
    """The judge's, one a verdict; empty where they are not known."""
    ratings: tuple[Rating, ...]
    """People's, with their reasons."""
    difference: float
    """The judge's score minus the mean of people's, in [-1, 1] and not 0: above 0 the judge is the more lenient."""


def partings(part: Part, reasons: Mapping[str, tuple[str, ...]]) -> list[Parting]:
    """Those of the items that are compared, farthest first; equally far ones in the order of the study.

    Args:
        part: Of a study.
        reasons: The judge's, by key of the item.
    """
    found: list[Parting] = []
    for each, judge in zip(part.compared, part.judge, strict=True):
        people = sum(grade.score for grade in each.grades) / len(each.grades)
        difference = judge.score - people
        if abs(difference) > 1e-9:
            found.append(Parting(each.item, judge, reasons.get(each.item.key, ()), each.ratings, difference))
    return sorted(found, key=lambda parting: -round(abs(parting.difference), 9))


def parting_document(parting: Parting) -> dict[str, Any]:
    """One as JSON."""
    item = parting.item
    return {
        "item": item.key,
        "phase": str(item.phase),
        "scenario": item.scenario,
        "turn": item.turn,
        "difference": parting.difference,
        "judge": {"grade": str(parting.judge), "reasons": list(parting.reasons)},
        "people": [
            {"rater": each.annotator, "grade": str(each.grade), "confidence": each.confidence, "reason": each.reason}
            for each in parting.ratings
        ],
    }


def parting_lines(found: Sequence[Parting], compared: int) -> Iterator[str]:
    """The farthest, for a person.

    Args:
        found: All of them, farthest first.
        compared: Items that were.
    """
    if not found:
        return
    some = f"; {_TOLD} of them here, all with --json" if len(found) > _TOLD else ""
    yield f"Where judge and people part, farthest first: {len(found)} of {counted(compared, 'item')}{some}"
    for each in found[:_TOLD]:
        counts = Counter(rating.grade for rating in each.ratings)
        people = ", ".join(f"{grade} {counts[grade]}" for grade in Grade if counts[grade])
        yield f"{each.item.key} ({each.item.phase}): judge {each.judge}, people {people}"
        said = [("judge", reason) for reason in each.reasons]
        said += [(f"{rating.annotator}, {rating.grade}", rating.reason) for rating in each.ratings]
        yield from (f"  {whose}: {_in_short(reason)}" for whose, reason in said if reason.strip())


def _in_short(reason: str) -> str:
    """A reason in one line, its beginning where it is long."""
    text = " ".join(reason.split())
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
