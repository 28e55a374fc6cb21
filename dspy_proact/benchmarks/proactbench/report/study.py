"""How far a judge agrees with people, beside how far people agree with each other: by phase and pooled."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

from dspy_proact.benchmarks.proactbench.corpus.bundled import published_ratings
from dspy_proact.benchmarks.proactbench.corpus.ratings import RatedItem, Ratings
from dspy_proact.benchmarks.proactbench.report.published_rule import PublishedRule, excludes, published_rule
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import front_html
from dspy_proact.stats import (
    AltTest,
    Estimate,
    HumanReference,
    Judged,
    Panel,
    Standing,
    alpha_estimate,
    alt_test,
    human_reference,
    majority,
    standings,
)

LABELS: Sequence[Grade] = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
"""In rising order."""
TIES = (Grade.PARTIAL, Grade.PASS, Grade.FAIL)
"""Which grade wins a tie, by the published rule."""
EPSILON = 0.15
"""Of the alt-test: people with training, but no experts."""
UNJUDGED = "the judge's grades of these items are not known"


@dataclass(frozen=True)
class Choices:
    """What of a study is counted, and how."""

    consensus: Literal["published", "soft"] = "published"
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
        """Aligned with the ratings."""
        return [rating.grade for rating in self.ratings]


@dataclass(frozen=True)
class Part:
    """One phase of a study, or all of it. Items without a scenario count as one scenario."""

    rated: Sequence[Rated]
    """Items with at least one rating."""
    choices: Choices

    @cached_property
    def enough(self) -> list[Rated]:
        """Items with enough ratings."""
        return [each for each in self.rated if len(each.ratings) >= self.choices.min_ratings]

    @cached_property
    def compared(self) -> list[Rated]:
        """Items with enough ratings and a judge's grade."""
        return [each for each in self.enough if each.item.judge is not None]

    @property
    def silence(self) -> str | None:
        """Why nothing is compared."""
        if self.compared:
            return None
        if not self.rated:
            return "no ratings"
        return UNJUDGED if self.enough else f"no item with {self.choices.min_ratings} ratings"

    @property
    def missing(self) -> Estimate:
        """What stands in place of a number of the judge where nothing is compared."""
        return Estimate(None, reason=self.silence)

    @property
    def paired(self) -> int:
        """Ratings of items that have two or more, which alone say how far people agree."""
        return sum(len(each.ratings) for each in self.rated if len(each.ratings) > 1)

    @cached_property
    def confusion(self) -> list[list[float]]:
        """Compared items by people's grade (row) and the judge's (column), in the order of `LABELS`; shares if soft."""
        soft = self.choices.consensus == "soft"
        table = [[0.0] * len(LABELS) for _ in LABELS]
        for each in self.compared:
            given = each.grades if soft else [majority(each.grades, TIES)]
            for grade in given:
                table[LABELS.index(grade)][LABELS.index(each.item.judge)] += 1 / len(given)
        return [[round(count, 6 if soft else None) for count in row] for row in table]

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Numbers by their names in `agree --json`: alphas over all ratings, the others over the compared items."""
        panel, scenarios, beside = _panel(self.rated), [each.item.scenario for each in self.rated], self._beside
        one_label: dict[str, Callable[[], Estimate]] = {
            "kappa": partial(beside.kappa, "none"),
            "kappa_linear": partial(beside.kappa, "linear"),
            "ac1": partial(beside.ac, "none"),
            "ac2": partial(beside.ac, "quadratic"),
            **{f"recall_{grade.lower()}": partial(beside.recall, place) for place, grade in enumerate(LABELS)},
        }
        any_label: dict[str, Callable[[], Estimate]] = {
            "kappa_quadratic": partial(beside.kappa, "quadratic"),
            "exact": beside.exact,
            "bias": partial(beside.bias, [grade.score for grade in LABELS]),
        }
        soft = "needs one label an item: --consensus published" if self.choices.consensus == "soft" else None
        estimates = {
            f"alpha_{metric}": alpha_estimate(panel, metric, scenarios) for metric in ("nominal", "ordinal", "interval")
        }
        for statistics, reason in ((one_label, self.silence or soft), (any_label, self.silence)):
            for name, statistic in statistics.items():
                estimates[name] = Estimate(None, reason=reason) if reason else statistic()
        return estimates

    @cached_property
    def reference(self) -> HumanReference:
        """One person against another by leave-one-out references, and the judge by the same on the same items.

        Where no judge is known, one person against another on all items with enough ratings.
        """
        return self._reference()

    @cached_property
    def within(self) -> HumanReference:
        """The same within phases, averaged over them by their items."""
        return self._reference(within=True)

    def _reference(self, within: bool = False) -> HumanReference:
        of = self.compared or self.enough
        found = human_reference(_judged(of), strata=[each.item.phase for each in of] if within else None)
        if self.compared:
            return found
        missing = self.missing
        return replace(found, judge=missing, difference=missing, low98=None, high98=None, exact_judge=missing)

    @cached_property
    def constant(self) -> Estimate:
        """Pooled kappa with one person of a judge that reads nothing and gives each phase its commonest grade."""
        given = defaultdict[str, Counter[Grade]](Counter)
        for each in self.compared:
            given[each.item.phase].update(each.grades)
        grades = [given[each.item.phase].most_common(1)[0][0] for each in self.compared]
        return human_reference(_judged(self.compared, grades)).judge if self.compared else self.missing

    @cached_property
    def alt_test(self) -> AltTest | None:
        """The judge against each person in turn; None where nothing is compared."""
        return alt_test(self._beside, epsilon=EPSILON) if self.compared else None

    @cached_property
    def standings(self) -> list[Standing]:
        """Each person beside the others, on all items, and beside the judge, on those that are compared."""
        judged = {each.rater: each.against_judge for each in standings(self._beside)}
        missing = Estimate(None, reason=UNJUDGED)
        people = standings(_judged(self.rated))
        return [replace(each, against_judge=judged.get(each.rater, missing)) for each in people]

    @cached_property
    def excluded(self) -> list[str]:
        """The people whom the published rule leaves out."""
        return [str(each.rater) for each in standings(self._beside) if excludes(each)]

    @cached_property
    def published(self) -> PublishedRule:
        """The statistics of the published study, by its own rules, on items with a judge's grade."""
        of = [each for each in self.rated if each.item.judge is not None]
        ratings, judge = [each.grades for each in of], [each.item.judge for each in of]
        return published_rule(ratings, judge, LABELS, TIES, min_ratings=self.choices.min_ratings)

    @cached_property
    def _beside(self) -> Judged:
        return _judged(self.compared, ties=TIES if self.choices.consensus == "published" else None)


def _panel(rated: Sequence[Rated]) -> Panel:
    raters = [[rating.annotator for rating in each.ratings] for each in rated]
    return Panel.of([each.grades for each in rated], LABELS, raters)


def _judged(
    rated: Sequence[Rated], judge: Sequence[Grade] | None = None, ties: Sequence[Grade] | None = None
) -> Judged:
    """The judge beside people; where its grade is not known FAIL stands for it, in numbers that do not depend on it."""
    grades = judge or [each.item.judge or Grade.FAIL for each in rated]
    return Judged.of(_panel(rated), grades, LABELS, [each.item.scenario for each in rated], ties)


@dataclass(frozen=True, repr=False)
class Study:
    """Ratings with what they say of people and of a judge."""

    ratings: Ratings
    """After what was left out."""
    choices: Choices
    whole: Part
    """All phases together, before any rater was left out."""
    excluded: tuple[str, ...] = ()
    """Raters left out by the published rule."""
    embedded: bool = False
    """Whether responses and the judge's grades are of the embedded stand-in."""
    judge: str = ""
    """By name; empty where it is not known."""
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The judge's, by key of the item; one a verdict."""
    learned_on: int = 0
    """Items of conversations that the judge's program was compiled on."""

    def __repr__(self) -> str:
        ratings, items = counted(len(self.ratings.ratings), "rating"), counted(len(self.pooled.rated), "item")
        judged = f"; judge {self.judge}" if self.judge else ""
        raters = counted(len(self.ratings.annotators), "rater")
        return f"Study({printable(self.ratings.name)}: {ratings}, {items}, {raters}{printable(judged)})"

    def _repr_html_(self) -> str:
        from dspy_proact.benchmarks.proactbench.report.study_text import print_study

        return front_html(partial(print_study, self))

    @cached_property
    def pooled(self) -> Part:
        """All phases together."""
        return Part(_rated(self.ratings), self.choices)

    @cached_property
    def phases(self) -> Mapping[Phase, Part]:
        """Each phase, also those that nobody rated."""
        return {
            phase: Part([each for each in self.pooled.rated if each.item.phase is phase], self.choices)
            for phase in Phase
        }

    @property
    def parts(self) -> Mapping[str, Part]:
        """Each phase, and all of them pooled, by name."""
        return {**{str(phase): part for phase, part in self.phases.items()}, "pooled": self.pooled}

    @property
    def apart(self) -> list[Standing]:
        """Raters who agree with the others less than one person does with another, by the whole of their interval."""
        usual = self.whole.reference.one_human.value
        found = ((each, each.against_others.high) for each in self.whole.standings)
        return [each for each, high in found if high is not None and usual is not None and high < usual]

    @cached_property
    def disagreements(self) -> list[tuple[Rated, float]]:
        """Items whose judge's score differs from the mean of people's, with the difference; the largest come first.

        It is in [-1, 1]; above 0 the judge is the more lenient.
        """
        found: list[tuple[Rated, float]] = []
        for each in self.pooled.compared:
            assert each.item.judge is not None, "compared items have one"
            difference = each.item.judge.score - sum(grade.score for grade in each.grades) / len(each.grades)
            if abs(difference) > 1e-9:
                found.append((each, difference))
        return sorted(found, key=lambda each: -round(abs(each[1]), 9))

    @property
    def balanced(self) -> bool:
        """Whether items are the published ones, drawn by the judge's grade: no rate on them is one in the corpus."""
        keys = {item.key for item in self.ratings.items}
        return self.ratings.published or keys == {item.key for item in published_ratings().items}


def study(
    ratings: Ratings,
    choices: Choices | None = None,
    *,
    embedded: bool = False,
    graded: Summary | None = None,
    learned_on: int = 0,
) -> Study:
    """Compare people with each other and with the judge.

    Args:
        ratings: Of any study, with the judge's grades where they are known.
        choices: What is counted, and how.
        embedded: As `Study.embedded`.
        graded: A run on the items, whose grades stand in place of all that were known before.
        learned_on: As `Study.learned_on`.

    Raises:
        UsageError: The published rule is to exclude raters, and the judge's grades are not known or nobody is left.
    """
    choices = choices or Choices()
    judge, reasons = "", dict[str, tuple[str, ...]]()
    if graded is not None:
        first = [outcome for outcome in graded.outcomes if outcome.epoch == 1]
        reasons = {o.key: tuple(str(verdict.detail.get("reasoning", "")) for verdict in o.verdicts) for o in first}
        grades = {outcome.key: Grade(outcome.label) for outcome in first if outcome.label}
        items = (item.model_copy(update={"judge": grades.get(item.key)}) for item in ratings.items)
        ratings = replace(ratings, items=tuple(items))
        judge, embedded = graded.judge, embedded or graded.embedded
    whole = Part(_rated(ratings), Choices())
    found = Study(ratings, choices, whole, (), embedded, judge, reasons, learned_on)
    if not choices.exclude:
        return found
    if not whole.compared:
        raise UsageError(f"{ratings.name}: raters are excluded by their agreement with a judge, and {UNJUDGED}")
    kept = tuple(rating for rating in ratings.ratings if rating.annotator not in whole.excluded)
    if not kept:
        raise UsageError(f"{ratings.name}: the published rule leaves out every rater; do without --exclude")
    return replace(found, ratings=replace(ratings, ratings=kept), excluded=tuple(whole.excluded))


def _rated(ratings: Ratings) -> list[Rated]:
    return [Rated(item, given) for item in ratings.items if (given := ratings.by_item[item.key])]
