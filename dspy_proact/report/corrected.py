"""What people would have given to the answers of a run, beside what its judge gave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.report.comparison import Comparison
from dspy_proact.report.draw import ratable
from dspy_proact.report.front import front_html
from dspy_proact.report.numbers import percent
from dspy_proact.report.summary import Summary
from dspy_proact.report.words import worded
from dspy_proact.runs import Nouns, Outcome
from dspy_proact.stats import CorrectedMean, Estimate, RatedCases, corrected_difference, corrected_mean

WHOLE = "micro"
"""The row of all strata together."""


@dataclass(frozen=True)
class PeoplesRatings:
    """What people gave to answers of a run."""

    name: str
    """What the person asked for."""
    given: Mapping[str, Mapping[str, float]]
    """By case and rater, each score in [0, 1], higher is better."""
    unfair: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why the rated cases of a stratum do not stand for all of it; nothing where they do."""
    notes: tuple[str, ...] = ()
    """What else is to be known of them, a sentence each, without its stop."""
    people: str = "people"
    """Who the raters are."""


@dataclass(frozen=True, repr=False)
class Corrected:
    """A run corrected by ratings of a part of its answers."""

    summary: Summary
    ratings: PeoplesRatings

    def __repr__(self) -> str:
        score = self.whole.corrected
        told = score.reason if score.value is None else f"{percent(score)} %"
        return f"Corrected({printable(f'{self.summary!r} by {self.ratings.name}')}: {told})"

    def _repr_html_(self) -> str:
        from dspy_proact.report.corrected_text import print_corrected

        return front_html(partial(print_corrected, self))

    @property
    def nouns(self) -> Nouns:
        """What the benchmark calls its things."""
        return self.summary.nouns

    @cached_property
    def rows(self) -> dict[str, CorrectedMean]:
        """By stratum, and all of them together."""
        cases = rated_cases(ratable(self.summary), self.ratings)
        found = {name: corrected_mean(cases.of_stratum(name)) for name in self.summary.strata}
        rows = {**found, WHOLE: corrected_mean(cases)}
        return {name: worded(self._fair(name, row), self.nouns) for name, row in rows.items()}

    @property
    def whole(self) -> CorrectedMean:
        """All strata together, every case weighted equally."""
        return self.rows[WHOLE]

    def _fair(self, name: str, row: CorrectedMean) -> CorrectedMean:
        """The row without a value where ratings do not stand for what it is about."""
        unfair = refused_for(self.ratings, name)
        return replace(row, corrected=Estimate(None, reason=unfair)) if unfair else row


@dataclass(frozen=True)
class CorrectedDifference:
    """b - a, as people would have given, over cases that both have scored."""

    pairs: int
    a: CorrectedMean
    b: CorrectedMean
    difference: Estimate
    """In [-1, 1]: above 0 where people would have given more to b."""


@dataclass(frozen=True)
class CorrectedComparison:
    """Two runs, each corrected by ratings of its own answers."""

    comparison: Comparison
    ratings: tuple[PeoplesRatings, PeoplesRatings]

    @cached_property
    def rows(self) -> dict[str, CorrectedDifference]:
        """By stratum, and all of them together."""
        keys = {pair.key for pair in self.comparison.pairs}
        first = [{each.key: each for each in ratable(side)} for side in (self.comparison.a, self.comparison.b)]
        both = [key for key in first[0] if key in first[1] and key in keys]
        a, b = (
            rated_cases([outcomes[key] for key in both], ratings)
            for outcomes, ratings in zip(first, self.ratings, strict=True)
        )
        strata = {name: (a.of_stratum(name), b.of_stratum(name)) for name in self.comparison.strata}
        rows = {**strata, WHOLE: (a, b)}
        return {name: worded(self._row(name, *sides), self.comparison.a.nouns) for name, sides in rows.items()}

    def _row(self, name: str, a: RatedCases, b: RatedCases) -> CorrectedDifference:
        told = zip("ab", self.ratings, strict=True)
        unfair = "; ".join(f"{side}: {why}" for side, each in told if (why := refused_for(each, name)))
        difference = Estimate(None, reason=unfair) if unfair else corrected_difference(a, b)
        return CorrectedDifference(len(a.labels), corrected_mean(a), corrected_mean(b), difference)


def compare_corrected(comparison: Comparison, a: PeoplesRatings, b: PeoplesRatings) -> CorrectedComparison:
    """Two runs on the same cases, each with ratings of its own.

    Raises:
        UsageError: The ratings are the same, or the answers.
    """
    if comparison.agreement:
        raise UsageError(
            f"{comparison.a.path} and {comparison.b.path} have the same responses, to which people would give the "
            "same: leave --ratings out"
        )
    if _same(a.given, b.given):
        raise UsageError(f"{a.name} and {b.name}: {EACH_ITS_OWN}")
    return CorrectedComparison(comparison, (a, b))


def _same(a: Mapping[str, Mapping[str, float]], b: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether what was given is alike wherever both have it, which is most: one run may have scored a case less."""
    both = a.keys() & b.keys()
    return 2 * len(both) > min(len(a), len(b)) and all(a[key] == b[key] for key in both)


EACH_ITS_OWN = (
    "the same ratings cannot correct two runs, for a judge may err otherwise on the responses of the other; each needs "
    "ratings of its own responses: --ratings A --ratings B"
)


def refused_for(ratings: PeoplesRatings, row: str) -> str:
    """Why ratings do not stand for what a row is about, each reason once; empty where they do."""
    return "; ".join(dict.fromkeys(ratings.unfair.values())) if row == WHOLE else ratings.unfair.get(row, "")


def rated_cases(outcomes: Iterable[Outcome], ratings: PeoplesRatings) -> RatedCases:
    """Scored outcomes, one a case, with what people gave to them."""
    told = list(outcomes)
    given = [
        (place, rater, score)
        for place, outcome in enumerate(told)
        for rater, score in ratings.given.get(outcome.key, {}).items()
    ]
    return RatedCases(
        labels=[outcome.label for outcome in told],
        scores=[outcome.score for outcome in told],
        groups=[outcome.group for outcome in told],
        strata=[outcome.stratum for outcome in told],
        of=[place for place, _, _ in given],
        raters=[rater for _, rater, _ in given],
        ratings=[score for _, _, score in given],
    )
