"""The comparison of two runs over the cases that they share, by stratum and over all."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from statistics import fmean
from typing import Literal

from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.report.agreement import GradingAgreement, agree_between
from dspy_proact.report.measured import Bounds, Compared, bounds_of, compared, in_nouns
from dspy_proact.report.numbers import points_of
from dspy_proact.report.summary import Summary, grouped
from dspy_proact.report.terminal import front_html
from dspy_proact.runs import Nouns, Outcome, State
from dspy_proact.stats import (
    Discordant,
    Estimate,
    Paired,
    Side,
    claimed_side,
    cluster_mean,
    discordant,
    holm,
    paired_difference,
)

SCORED: Collection[State] = ("scored",)
TRIED: Collection[State] = ("scored", "unscored")


@dataclass(frozen=True)
class CasePair:
    """A case that both have scored, or have tried; epochs are averaged."""

    key: str
    stratum: str
    group: str
    meta: Mapping[str, str | int]
    score: tuple[float, float]
    """In [0, 1] each, higher is better; what is unscored counts 0."""
    passed: tuple[float, float]
    """Share of epochs with a full pass."""
    outcomes: tuple[Sequence[Outcome], Sequence[Outcome]]
    """Those of each that are scored, one an epoch."""
    unscored: tuple[int, int]
    """How many of each were tried and are not."""

    @classmethod
    def of(
        cls, ours: Sequence[Outcome], theirs: Sequence[Outcome], top: str, states: Collection[State] = SCORED
    ) -> "CasePair | None":
        """The pair of a case from its outcomes, one an epoch; None where a or b has none in one of these states."""
        counted = [[outcome for outcome in side if outcome.state in states] for side in (ours, theirs)]
        if not all(counted):
            return None
        a, b = (_mean([outcome.score for outcome in side]) for side in counted)
        passed_a, passed_b = (_mean([float(outcome.label == top) for outcome in side]) for side in counted)
        mine, other = ([outcome for outcome in side if outcome.state == "scored"] for side in counted)
        unscored = (len(counted[0]) - len(mine), len(counted[1]) - len(other))
        case = ours[0]
        about = case.key, case.stratum, case.group, case.meta
        return cls(*about, (a, b), (passed_a, passed_b), (mine, other), unscored)


@dataclass(frozen=True)
class Difference:
    """b minus a over some cases."""

    pairs: int
    a: Estimate
    """Mean score over these pairs."""
    b: Estimate
    weighted: Paired
    pass_rate: Paired
    """Of pass or not pass."""
    passes: Discordant
    """Who passes where; a description, and no test."""


@dataclass(frozen=True)
class Differences:
    """b minus a over pairs, by stratum and over all."""

    pairs: tuple[CasePair, ...]
    strata: tuple[str, ...]
    """In the order of reports."""
    nouns: Nouns
    leading: Literal["micro", "macro"]
    """The mean that ranks, whose difference comes first."""
    scored: bool = True
    """Whether there are scores: not of labels without an order."""

    @property
    def overall(self) -> Difference:
        """By the mean that ranks: one test, chosen in advance."""
        return self.macro if self.leading == "macro" else self.micro

    @property
    def ordered(self) -> dict[str, Difference]:
        """Every row of a table: the mean that ranks, the strata, the other mean."""
        other = "micro" if self.leading == "macro" else "macro"
        return {self.leading: self.overall, **self.rows, other: self.micro if other == "micro" else self.macro}

    @property
    def side(self) -> Side | None:
        """Where b lies beside a by the mean that ranks; None where that is not shown."""
        return claimed_side(self.overall.weighted, self.overall.weighted.p)

    @cached_property
    def sides(self) -> dict[str, Side | None]:
        """Where b lies beside a in each stratum, by the test that is adjusted over them."""
        return {name: claimed_side(row.weighted, self.adjusted[name][0]) for name, row in self.rows.items()}

    @cached_property
    def by_stratum(self) -> dict[str, list[CasePair]]:
        """The pairs of each stratum."""
        return {name: [pair for pair in self.pairs if pair.stratum == name] for name in self.strata}

    @cached_property
    def rows(self) -> dict[str, Difference]:
        """By stratum; what could have been seen is by the test that is adjusted over them."""
        tests = sum(len({pair.group for pair in pairs}) > 1 for pairs in self.by_stratum.values())
        difference = partial(paired_difference, tests=max(1, tests))
        return {name: self.row(pairs, difference=difference) for name, pairs in self.by_stratum.items()}

    @cached_property
    def micro(self) -> Difference:
        """Every case weighted equally."""
        return self.row(self.pairs)

    @cached_property
    def macro(self) -> Difference:
        """Every stratum weighted equally."""
        if not self.scored:
            return self.micro
        strata = {"strata": [pair.stratum for pair in self.pairs], "order": self.strata}
        return self.row(self.pairs, partial(cluster_mean, **strata), partial(paired_difference, **strata))

    @cached_property
    def adjusted(self) -> dict[str, tuple[float | None, float | None]]:
        """By stratum: p of the weighted and of the pass difference, Holm-adjusted over the strata."""
        weighted = holm([row.weighted.p for row in self.rows.values()])
        passes = holm([row.pass_rate.p for row in self.rows.values()])
        return dict(zip(self.rows, zip(weighted, passes, strict=True), strict=True))

    def row(
        self,
        pairs: Sequence[CasePair],
        mean: Callable[[list[float], list[str]], Estimate] = cluster_mean,
        difference: Callable[[list[float], list[float], list[str]], Paired] = paired_difference,
    ) -> Difference:
        """Over some of the pairs."""
        count, pairs = len(pairs), pairs if self.scored else ()
        groups = [pair.group for pair in pairs]
        a, b = ([pair.score[side] for pair in pairs] for side in (0, 1))
        passed_a, passed_b = ([pair.passed[side] for pair in pairs] for side in (0, 1))
        row = Difference(
            pairs=count,
            a=mean(a, groups),
            b=mean(b, groups),
            weighted=difference(a, b, groups),
            pass_rate=difference(passed_a, passed_b, groups),
            passes=discordant([share > 0.5 for share in passed_a], [share > 0.5 for share in passed_b]),
        )
        return in_nouns(row, self.nouns)


_MOST_GROUPS = 5
_LONGEST_VALUE = 48


@dataclass(frozen=True, repr=False)
class Comparison:
    """b against a; a difference above 0 means that b is better."""

    a: Summary
    b: Summary
    pairs: tuple[CasePair, ...]
    tried: tuple[CasePair, ...]
    """Cases that both have tried, what is unscored counting 0."""
    shared: int
    """Cases that both were asked, in the same words."""
    rephrased: int
    """Cases of one key whose words differ; they are left out."""
    agreement: GradingAgreement | None
    """Of the judges, where both graded the same responses."""

    def __repr__(self) -> str:
        sides = f"{self.a.model_name} ({self.a.path}), {self.b.model_name} ({self.b.path})"
        difference = points_of(self.lenient.overall.weighted.difference)
        return f"Comparison({printable(sides)}: {len(self.pairs)} pairs, b - a {difference} points)"

    def _repr_html_(self) -> str:
        from dspy_proact.report.comparison_text import print_comparison

        return front_html(partial(print_comparison, self))

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Of both, each role with the name of its model."""
        return *self.a.roles, *self.b.roles

    @cached_property
    def lenient(self) -> Differences:
        """Over what both have scored, as published scores are."""
        return Differences(self.pairs, self.a.strata, self.a.nouns, self.a.leading_mean, self.a.ordered)

    @cached_property
    def strict(self) -> Differences:
        """Over what both have tried, the unscored counting 0; the same where nothing is unscored."""
        alike = len(self.tried) == len(self.pairs) and not any(self.unscored)
        return self.lenient if alike else replace(self.lenient, pairs=self.tried)

    @property
    def side(self) -> Side | None:
        """Where b lies beside a by the mean that ranks; None unless leaving out and counting 0 show the same."""
        return self.lenient.side if self.lenient.side == self.strict.side else None

    @property
    def sides(self) -> dict[str, Side | None]:
        """Likewise in each stratum, by the test that is adjusted over them."""
        lenient, strict = self.lenient.sides, self.strict.sides
        return {name: side if side == strict[name] else None for name, side in lenient.items()}

    @property
    def unscored(self) -> tuple[int, int]:
        """Answers of a, and of b, to what both have tried that have no score."""
        a, b = (sum(pair.unscored[side] for pair in self.tried) for side in (0, 1))
        return a, b

    @cached_property
    def controls(self) -> Difference | None:
        """Shares of the worst label at control cases that both have scored; None where there are none."""
        common = _common(self.a.controls.outcomes, self.b.controls.outcomes)
        alike = [(ours, theirs) for ours, theirs in common if ours[0].view == theirs[0].view]
        pairs = [pair for ours, theirs in alike if (pair := CasePair.of(ours, theirs, self.a.controls.worst))]
        return self.lenient.row([replace(pair, score=pair.passed) for pair in pairs]) if pairs else None

    @cached_property
    def changed(self) -> list[tuple[str, str, str]]:
        """What differs between the two, with its value in each."""
        if self.a.manifest is None or self.b.manifest is None:
            named = (("model", self.a.model, self.b.model), ("judge", self.a.judge, self.b.judge))
            return [change for change in named if change[1] != change[2]]
        a, b = self.a.manifest, self.b.manifest
        settings = [(name, getattr(a, name), getattr(b, name)) for name in ("epochs", "judge_epochs")]
        mine, theirs = ("asked" if manifest.controls else "not asked" for manifest in (a, b))
        settings.append(("controls", mine, theirs))
        beside = [(name, str(mine), str(theirs)) for name, mine, theirs in settings if mine != theirs]
        differ = a.identity.differences(b.identity).items()
        return [*((name, _short(mine), _short(theirs)) for name, (mine, theirs) in differ), *beside]

    @cached_property
    def repeated(self) -> int:
        """Cases that both have scored and to which both gave the same responses, word for word."""
        texts = ([[outcome.response for outcome in side] for side in pair.outcomes] for pair in self.pairs)
        return sum(a == b and None not in a for a, b in texts)

    @property
    def judged_alike(self) -> bool:
        """Whether both are known to have been graded by one judge, asked in the same way, beside the same roles."""
        known = self.a.manifest is not None and self.b.manifest is not None
        return known and not self._changed_in("judge", "judges", "roles")

    @property
    def changed_judges(self) -> bool:
        """Whether the judges, or how they are asked, are known to differ."""
        return self._changed_in("judge", "judges")

    def _changed_in(self, *names: str) -> bool:
        return any(name.partition(".")[0] in names for name, _, _ in self.changed)

    @cached_property
    def flips(self) -> dict[str, dict[str, int]]:
        """Cases by the grade of a, then by that of b; where there are several epochs, of the first scored."""
        first = [{o.key: o for o in reversed(side.outcomes) if o.label} for side in (self.a, self.b)]
        grades = Counter((first[0][pair.key].label, first[1][pair.key].label) for pair in self.pairs)
        return {a: {b: grades[a, b] for b in self.a.labels} for a in self.a.labels}

    @cached_property
    def breakdowns(self) -> dict[str, dict[str, Difference]]:
        """Differences by each of the benchmark's grouping keys that the cases have, and by group, in order."""
        known = {key for pair in self.pairs for key in pair.meta}
        breakdowns: dict[str, dict[str, Difference]] = {}
        for key in self.a.reporting.breakdowns:
            if key in known:
                groups = grouped(self.pairs, lambda pair, key=key: pair.meta.get(key, ""))
                breakdowns[key] = {group: self.lenient.row(pairs) for group, pairs in groups.items()}
        return breakdowns

    @cached_property
    def farthest(self) -> list[tuple[str, int, float]]:
        """Groups that move the difference most: name, pairs, and sum of b minus a."""
        groups = grouped(self.pairs, lambda pair: pair.group)
        moved = ((name, len(of), sum(pair.score[1] - pair.score[0] for pair in of)) for name, of in groups.items())
        return sorted((group for group in moved if group[2]), key=lambda group: -abs(group[2]))[:_MOST_GROUPS]

    def measured(self, pairs: Sequence[CasePair], by_stratum: bool = False) -> dict[str, Compared]:
        """The measures of some of the pairs, by name, every pair weighted equally, or every stratum."""
        cases, strata = [(pair.group, *pair.outcomes) for pair in pairs], self.a.strata if by_stratum else None
        return {
            measure.name: in_nouns(compared(measure, cases, self._bounds[measure.name], strata), self.a.nouns)
            for measure in self.a.measures
        }

    @cached_property
    def _bounds(self) -> dict[str, Bounds]:
        outcomes = [*self.a.outcomes, *self.b.outcomes]
        return {measure.name: bounds_of(measure, outcomes) for measure in self.a.measures}


def compare(a: Summary, b: Summary) -> Comparison:
    """Pair two runs or results files by case; raises a `UsageError` where the benchmarks or all cases' words differ."""
    if a.benchmark == b.benchmark and (a.labels, a.ordered) != (b.labels, b.ordered):
        raise UsageError(f"{a.path} and {b.path}: graded on other scales, so that there is nothing to compare")
    if a.benchmark != b.benchmark or a.strata != b.strata:
        raise UsageError(f"{a.path} is a run of {a.benchmark}, {b.path} of {b.benchmark}: nothing to compare")
    common = _common(a.outcomes, b.outcomes)
    alike = [(ours, theirs) for ours, theirs in common if a.reporting.alike(ours[0], theirs[0])]
    if not alike:
        nouns = a.nouns
        otherwise = f"all {len(common)} {nouns.cases} of the same name differ in their text"
        why = otherwise if common else f"no {nouns.case} in common"
        raise UsageError(f"{a.path} and {b.path}: {why}, so there is nothing to compare; are they of one corpus?")

    def paired(states: Collection[State]) -> tuple[CasePair, ...]:
        return tuple(pair for ours, theirs in alike if (pair := CasePair.of(ours, theirs, a.labels[0], states)))

    pairs = paired(SCORED)
    tried = paired(TRIED) if a.count("unscored") or b.count("unscored") else pairs
    both = [
        (first, second)
        for ours, theirs in alike
        for first, second in product(ours, theirs)
        if first.epoch == second.epoch and first.response is not None and second.response is not None
    ]
    agreement, names = None, (a.judge_name, b.judge_name)
    if a.judges and b.judges and both and all(first.response == second.response for first, second in both):
        judges = (f"{names[0]} (a)", f"{names[1]} (b)") if names[0] == names[1] else names
        agreement = agree_between(both, *judges, a)
    return Comparison(a, b, pairs, tried, len(alike), len(common) - len(alike), agreement)


def _mean(numbers: Sequence[float]) -> float:
    return numbers[0] if len(numbers) == 1 else fmean(numbers)


def _common(a: Iterable[Outcome], b: Iterable[Outcome]) -> list[tuple[list[Outcome], list[Outcome]]]:
    """The outcomes of each case that both have, one an epoch."""
    ours, theirs = defaultdict[str, list[Outcome]](list), defaultdict[str, list[Outcome]](list)
    for by_key, outcomes in ((ours, a), (theirs, b)):
        for outcome in outcomes:
            by_key[outcome.key].append(outcome)
    return [(ours[key], theirs[key]) for key in ours if key in theirs]


def _short(value: str | None) -> str:
    """JSON of a value, fit for a line."""
    text = "none" if value in (None, "null") else value.strip('"')
    return text if len(text) <= _LONGEST_VALUE else f"{text[:12]}..."
