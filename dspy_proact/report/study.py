"""How far a judge agrees with people, beside how far people agree with each other: by stratum and pooled.

A study is of one part of a grading: that as a whole, where a benchmark declares no parts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, parts_of
from dspy_proact.evaluation.ratings import RatedItem, Ratings
from dspy_proact.evaluation.registry import benchmark_of, benchmark_of_run
from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import counted
from dspy_proact.report.ratings import JudgeGrades, judge_grades
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import front_html
from dspy_proact.report.voted import VotedRow, voted_rows
from dspy_proact.runs import Nouns
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
    standings,
)

UNJUDGED = "the judge's grades of these items are not known"
LEAST_KAPPA, LEAST_RATINGS = 0.10, 5
"""A published rule leaves people out below this kappa with the judge, of so many ratings or more."""


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
class Subset:
    """One stratum of a study, or all of it. Items without a group count as one group."""

    epsilon: ClassVar[float] = 0.15
    """Of the alt-test: people with training, but no experts."""

    rated: Sequence[RatedItem]
    """Items with at least one rating of the part, and its level by the judge where that is known."""
    part: Part
    choices: Choices

    @cached_property
    def worth(self) -> Mapping[str, float]:
        """The score of each level, in [0, 1], by equal steps."""
        return {level: index / max(1, len(self.part.levels) - 1) for index, level in enumerate(self.part.levels)}

    def grades(self, item: RatedItem) -> list[str]:
        """The level that each person gave to the part of an item."""
        return [grade.grade for grade in item.grades[self.part.name]]

    def judged(self, item: RatedItem) -> str:
        """The judge's level of the part of a compared item."""
        return item.judged[self.part.name]

    @cached_property
    def enough(self) -> list[RatedItem]:
        """Items with enough ratings."""
        return [item for item in self.rated if len(self.grades(item)) >= self.choices.min_ratings]

    @cached_property
    def compared(self) -> list[RatedItem]:
        """Items with enough ratings and a judge's grade."""
        return [item for item in self.enough if self.part.name in item.judged]

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
        counts = [len(self.grades(item)) for item in self.rated]
        return sum(count for count in counts if count > 1)

    @cached_property
    def confusion(self) -> list[list[float]]:
        """Compared items by people's grade (row) and the judge's (column), in the order of levels; shares if soft."""
        soft = self.choices.consensus == "soft"
        table = [[0.0] * len(self.part.levels) for _ in self.part.levels]
        for item in self.compared:
            levels = self.grades(item) if soft else [item.consensus(self.part)]
            for level in levels:
                table[self.part.levels.index(level)][self.part.levels.index(self.judged(item))] += 1 / len(levels)
        return [[round(count, 6 if soft else None) for count in row] for row in table]

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Numbers by their names in `agree --json`: alphas over all ratings, the others over the compared items.

        On a nominal scale those that know no distance between levels.
        """
        beside, panel, groups = self._beside, self._panel(self.rated), [item.group for item in self.rated]
        metrics: tuple[Literal["nominal", "ordinal", "interval"], ...] = ("nominal",)
        recalls = {
            f"recall_{level.lower()}": partial(beside.recall, index) for index, level in enumerate(self.part.levels)
        }
        one_label: dict[str, Callable[[], Estimate]] = {
            "kappa": partial(beside.kappa, "none"),
            "ac1": partial(beside.ac, "none"),
            **recalls,
        }
        any_label: dict[str, Callable[[], Estimate]] = {"exact": beside.exact}
        if self.part.scale == "ordinal":
            metrics = ("nominal", "ordinal", "interval")
            one_label |= {"kappa_linear": partial(beside.kappa, "linear"), "ac2": partial(beside.ac, "quadratic")}
            any_label["kappa_quadratic"] = partial(beside.kappa, "quadratic")
            any_label["bias"] = partial(beside.bias, [*self.worth.values()])
        soft = "needs one label an item: the published consensus" if self.choices.consensus == "soft" else None
        estimates = {f"alpha_{metric}": alpha_estimate(panel, metric, groups) for metric in metrics}
        for statistics, reason in ((one_label, self.silence or soft), (any_label, self.silence)):
            for name, statistic in statistics.items():
                estimates[name] = Estimate(None, reason=reason) if reason else statistic()
        return estimates

    @property
    def alpha(self) -> Estimate:
        """Krippendorff's of all ratings, by the scale of the part."""
        return self.estimates["alpha_ordinal" if self.part.scale == "ordinal" else "alpha_nominal"]

    @property
    def kappa(self) -> Estimate:
        """Of people's label and the judge's, weighted by the scale of the part."""
        return self.estimates["kappa_quadratic" if self.part.scale == "ordinal" else "kappa"]

    @cached_property
    def reference(self) -> HumanReference:
        """One person against another by leave-one-out references, and the judge by the same on the same items.

        Where no judge is known, one person against another on all items with enough ratings.
        """
        return self._reference()

    @cached_property
    def within(self) -> HumanReference:
        """The same within strata, averaged over them by their items."""
        return self._reference(within=True)

    def _reference(self, within: bool = False) -> HumanReference:
        of = self.compared or self.enough
        strata = [item.stratum for item in of] if within else None
        reference = human_reference(self._judged(of), self.part.weight, strata)
        if self.compared:
            return reference
        missing = self.missing
        return replace(reference, judge=missing, difference=missing, low98=None, high98=None, exact_judge=missing)

    @cached_property
    def constant(self) -> Estimate:
        """Pooled kappa with one person of a judge that reads nothing and gives each stratum its commonest grade."""
        counts = defaultdict[str, Counter[str]](Counter)
        for item in self.compared:
            counts[item.stratum].update(self.grades(item))
        grades = [counts[item.stratum].most_common(1)[0][0] for item in self.compared]
        if not self.compared:
            return self.missing
        return human_reference(self._judged(self.compared, grades), self.part.weight).judge

    @cached_property
    def alt_test(self) -> AltTest | None:
        """The judge against each person in turn; None where nothing is compared, or levels have no order."""
        return alt_test(self._beside, epsilon=self.epsilon) if self.compared and self.part.scale == "ordinal" else None

    @cached_property
    def standings(self) -> list[Standing]:
        """Each person beside the others, on all items, and beside the judge, on those that are compared."""
        weight, missing = self.part.weight, Estimate(None, reason=UNJUDGED)
        beside = {standing.rater: standing.against_judge for standing in standings(self._beside, weight)}
        people = standings(self._judged(self.rated), weight)
        return [replace(standing, against_judge=beside.get(standing.rater, missing)) for standing in people]

    @cached_property
    def excluded(self) -> list[str]:
        """The people whom the published rule leaves out, which raises the agreement of people with the judge.

        To reproduce a study, never to clean one. A person without a kappa against the judge stays.
        """
        known = ((standing, standing.against_judge.value) for standing in standings(self._beside, self.part.weight))
        return [
            str(standing.rater)
            for standing, kappa in known
            if kappa is not None and kappa < LEAST_KAPPA and standing.ratings >= LEAST_RATINGS
        ]

    @cached_property
    def _beside(self) -> Judged:
        return self._judged(self.compared, ties=self.part.ties if self.choices.consensus == "published" else None)

    def _panel(self, rated: Sequence[RatedItem]) -> Panel:
        raters = [[grade.rater for grade in item.grades[self.part.name]] for item in rated]
        return Panel.of([self.grades(item) for item in rated], self.part.levels, raters)

    def _judged(
        self, rated: Sequence[RatedItem], judge: Sequence[str] | None = None, ties: Sequence[str] | None = None
    ) -> Judged:
        """The judge beside people; the worst level stands for what is not known, where no number depends on it."""
        grades = judge or [item.judged.get(self.part.name, self.part.levels[0]) for item in rated]
        return Judged.of(self._panel(rated), grades, self.part.levels, [item.group for item in rated], ties)


@dataclass(frozen=True, repr=False)
class RatingStudy:
    """Ratings of one part of a grading, with what they say of people and of a judge."""

    ratings: Ratings
    """After what was left out."""
    part: Part
    nouns: Nouns
    order: tuple[str, ...]
    """The strata of the benchmark."""
    choices: Choices
    all_raters: Subset
    """All strata together, before any rater was left out."""
    pooled: Subset
    """All strata together."""
    excluded: tuple[str, ...] = ()
    """Raters left out by the published rule."""
    roles: tuple[tuple[str, str], ...] = ()
    """Of the graded run, each role with the name of its model."""
    judge: str = ""
    """By name; empty where it is not known."""
    judge_grades: Mapping[str, JudgeGrades] = field(default_factory=dict[str, JudgeGrades])
    """By key of the item, where the judge graded a run."""
    learned_on: int = 0
    """Items of cases that the judge's program was compiled on."""
    graded: Summary | None = None
    """The run in which the judge graded the items; None where its grades stand with them, or it is not known."""

    def __repr__(self) -> str:
        ratings, items = counted(self.count, "rating"), counted(len(self.pooled.rated), "item")
        judge = f"; judge {self.judge}" if self.judge else ""
        raters = counted(len(self.raters), "rater")
        return f"RatingStudy({printable(self.ratings.name)}: {ratings}, {items}, {raters}{printable(judge)})"

    def _repr_html_(self) -> str:
        from dspy_proact.report.study_text import print_study

        return front_html(partial(print_study, self))

    @property
    def count(self) -> int:
        """Ratings of the part."""
        return sum(len(self.pooled.grades(item)) for item in self.pooled.rated)

    @property
    def raters(self) -> list[str]:
        """Who gave them."""
        grades = (grade for item in self.pooled.rated for grade in item.grades[self.part.name])
        return [*dict.fromkeys(grade.rater for grade in grades)]

    @cached_property
    def strata(self) -> Mapping[str, Subset]:
        """Each stratum of the benchmark, also those that nobody rated."""
        return {
            name: replace(self.pooled, rated=[item for item in self.pooled.rated if item.stratum == name])
            for name in self.order
        }

    @property
    def subsets(self) -> Mapping[str, Subset]:
        """Each stratum, and all of them pooled, by name."""
        return {**self.strata, "pooled": self.pooled} if len(self.order) > 1 else {"pooled": self.pooled}

    @cached_property
    def disagreements(self) -> list[tuple[RatedItem, float]]:
        """Items whose judge's level differs from the mean of people's, with the difference; the largest come first.

        It is in [-1, 1], above 0 where the judge is the more lenient; on a nominal scale the share who say otherwise.
        """
        worth, differences = self.pooled.worth, list[tuple[RatedItem, float]]()
        for item in self.pooled.compared:
            judge, grades = self.pooled.judged(item), self.pooled.grades(item)
            difference = worth[judge] - sum(worth[grade] for grade in grades) / len(grades)
            if self.part.scale == "nominal":
                difference = 1 - grades.count(judge) / len(grades)
            if abs(difference) > 1e-9:
                differences.append((item, difference))
        return sorted(differences, key=lambda pair: -round(abs(pair[1]), 9))

    def reasons(self, item: RatedItem) -> tuple[str, ...]:
        """The judge's for its grade of an item, one a verdict."""
        return self.judge_grades[item.key].reasons if item.key in self.judge_grades else ()

    @cached_property
    def voted(self) -> tuple[VotedRow, ...]:
        """The judge, what needs no judge and one person, beside the votes of several on two levels; else nothing."""
        name, by_key = self.part.name, self.judge_grades.items()
        likely = {key: grades.likelihoods[name] for key, grades in by_key if name in grades.likelihoods}
        grades = {item.key: self.pooled.grades(item) for item in self.pooled.compared}
        levels = {item.key: self.pooled.judged(item) for item in self.pooled.compared}
        groups = {item.key: item.group for item in self.pooled.compared}
        judge = self.judge or "judge"
        raters = len({grade.rater for item in self.pooled.compared for grade in item.grades[name]})
        return voted_rows(judge, self.part, raters, grades=grades, levels=levels, likely=likely, groups=groups)


def studies(
    ratings: Ratings,
    choices: Choices | None = None,
    *,
    benchmark: Benchmark[Any, Any] | None = None,
    graded: Summary | None = None,
    learned_on: int = 0,
) -> tuple[RatingStudy, ...]:
    """Compare people with each other and with the judge, by each part of the grading that somebody graded.

    Raises a `UsageError` where the published rule is to exclude raters, and the judge's grades are not known or nobody
    is left. The benchmark is needed where it is of a person's own file. The grades of a run on the items, `graded`,
    stand in place of all that were known before.
    """
    declared = benchmark_of_run(graded) if graded and benchmark is None else benchmark_of(ratings.benchmark, benchmark)
    choices = choices or Choices()
    grades = judge_grades(graded, declared) if graded else {}
    levels = (
        {key: graded_levels.levels for key, graded_levels in grades.items()}
        if graded
        else {i.key: i.judged for i in ratings.items}
    )
    roles, judge = (graded.roles, graded.judge_name) if graded else ((), ratings.judge)
    order = tuple(dict.fromkeys([*declared.strata, *(item.stratum for item in ratings.items)]))
    study_of_parts: list[RatingStudy] = []
    for part in parts_of(declared):
        rated = [
            replace(item, grades={part.name: item.grades[part.name]}, judged=levels.get(item.key, {}))
            for item in ratings.rated
            if part.name in item.grades
        ]
        if not rated:
            continue
        all_raters = Subset(rated, part, Choices())
        excluded = tuple(all_raters.excluded) if choices.exclude and all_raters.compared else ()
        if choices.exclude and not all_raters.compared:
            raise UsageError(f"{ratings.name}: raters are excluded by their agreement with a judge, and {UNJUDGED}")
        left = replace(ratings, grades=tuple(row for row in ratings.grades if row.rater not in excluded))
        still = {item.key: item.grades for item in left.rated if part.name in item.grades}
        kept = [replace(item, grades=still[item.key]) for item in rated if item.key in still]
        pooled = Subset(kept, part, choices)
        if not pooled.rated:
            raise UsageError(f"{ratings.name}: the published rule leaves out every rater; do without `exclude`")
        of = left, part, declared.nouns, order, choices
        study_of_parts.append(RatingStudy(*of, all_raters, pooled, excluded, roles, judge, grades, learned_on, graded))
    return tuple(study_of_parts)


def study(
    ratings: Ratings,
    choices: Choices | None = None,
    *,
    benchmark: Benchmark[Any, Any] | None = None,
    graded: Summary | None = None,
    learned_on: int = 0,
) -> RatingStudy:
    """The first of `studies`, the only one where people grade answers as a whole; raises as `studies` does."""
    return studies(ratings, choices, benchmark=benchmark, graded=graded, learned_on=learned_on)[0]
