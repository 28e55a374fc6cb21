"""Two runs or results files on the cases that they share."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dspy_proact.errors import UsageError
from dspy_proact.report.agreement import Agreement, agree_between
from dspy_proact.report.measured import Compared, compared, is_share
from dspy_proact.report.outcome import Outcome
from dspy_proact.report.summary import Summary
from dspy_proact.report.words import worded, worded_pair
from dspy_proact.stats import (
    Discordant,
    Estimate,
    Paired,
    cluster_mean,
    discordant,
    holm,
    macro_mean,
    macro_paired_difference,
    paired_difference,
)

_MOST_GROUPS = 5
_LONGEST_VALUE = 48


@dataclass(frozen=True)
class CasePair:
    """A case that both have scored; epochs are averaged."""

    key: str
    stratum: str
    group: str
    meta: Mapping[str, str | int]
    score: tuple[float, float]
    """In [0, 1] each, higher is better."""
    passed: tuple[float, float]
    """Share of epochs with a full pass."""
    outcomes: tuple[Sequence[Outcome], Sequence[Outcome]]
    """Those of each that are scored, one an epoch."""


@dataclass(frozen=True)
class Difference:
    """b minus a over some cases."""

    pairs: int
    scores: tuple[Estimate, Estimate]
    """Mean score of each over these pairs."""
    weighted: Paired
    passes: Paired
    """Of pass or not pass."""
    discordant: Discordant
    """Who passes where; a description, and no test."""


@dataclass(frozen=True)
class Comparison:
    """b against a; a difference above 0 means that b is better."""

    a: Summary
    b: Summary
    pairs: tuple[CasePair, ...]
    shared: int
    """Cases that both were asked, in the same words."""
    otherwise: int
    """Cases of one key whose words differ; they are left out."""
    agreement: Agreement | None
    """Of the judges, where both graded the same responses."""

    @property
    def strata(self) -> tuple[str, ...]:
        """In the order of reports."""
        return self.a.strata

    @cached_property
    def rows(self) -> dict[str, Difference]:
        """By stratum."""
        return {name: self._row([pair for pair in self.pairs if pair.stratum == name]) for name in self.strata}

    @cached_property
    def micro(self) -> Difference:
        """Every case weighted equally."""
        return self._row(self.pairs)

    @cached_property
    def macro(self) -> Difference:
        """Every stratum weighted equally."""
        strata, order = [pair.stratum for pair in self.pairs], self.strata

        def mean(scores: list[float], groups: list[str]) -> Estimate:
            return worded(macro_mean(scores, groups, strata, order), self.a.nouns)

        def difference(a: list[float], b: list[float], groups: list[str]) -> Paired:
            return worded_pair(macro_paired_difference(a, b, groups, strata, order), self.a.nouns)

        return _row(self.pairs, mean, difference)

    @cached_property
    def controls(self) -> Difference | None:
        """Shares of the worst label at control cases that both have scored; None where there are none."""
        ours, theirs = _by_key(self.a.controls.outcomes), _by_key(self.b.controls.outcomes)
        alike = [key for key in ours if key in theirs and ours[key][0].view == theirs[key][0].view]
        pairs = [pair for key in alike if (pair := _pair(ours[key], theirs[key], self.a.controls.worst))]
        return self._row([replace(pair, score=pair.passed) for pair in pairs]) if pairs else None

    @cached_property
    def adjusted(self) -> dict[str, tuple[float | None, float | None]]:
        """By stratum: p of the weighted and of the pass difference, Holm-adjusted over the strata."""
        weighted = holm([row.weighted.p for row in self.rows.values()])
        passes = holm([row.passes.p for row in self.rows.values()])
        return dict(zip(self.rows, zip(weighted, passes, strict=True), strict=True))

    @cached_property
    def changed(self) -> list[tuple[str, str, str]]:
        """What differs between the two, with its value in each."""
        if self.a.manifest is None or self.b.manifest is None:
            named = (("model", self.a.model, self.b.model), ("judge", self.a.judge, self.b.judge))
            return [change for change in named if change[1] != change[2]]
        a, b = self.a.manifest.identity, self.b.manifest.identity
        return [(name, _short(mine), _short(theirs)) for name, (mine, theirs) in a.differences(b).items()]

    @cached_property
    def flips(self) -> dict[str, dict[str, int]]:
        """Cases by the grade of a, then by that of b; where there are several epochs, of the first scored."""
        first = [{o.key: o for o in reversed(side.outcomes) if o.label} for side in (self.a, self.b)]
        grades = Counter((first[0][pair.key].label, first[1][pair.key].label) for pair in self.pairs)
        return {a: {b: grades[a, b] for b in self.a.labels} for a in self.a.labels}

    @property
    def breakdowns(self) -> tuple[str, ...]:
        """Keys of a case by which the differences are broken down."""
        return self.a.particulars.breakdowns

    def breakdown(self, key: str) -> dict[str, Difference]:
        """Rows by a grouping key of the cases; groups in order."""
        groups = _grouped(self.pairs, lambda pair: pair.meta.get(key, ""))
        return {str(group): self._row(pairs) for group, pairs in groups.items()}

    @cached_property
    def farthest(self) -> list[tuple[str, int, float]]:
        """Groups that move the difference most: name, pairs, and sum of b minus a."""
        groups = _grouped(self.pairs, lambda pair: pair.group)
        sums = {group: sum(pair.score[1] - pair.score[0] for pair in pairs) for group, pairs in groups.items()}
        moved = sorted((group for group in groups if sums[group]), key=lambda group: -abs(sums[group]))
        return [(str(group), len(groups[group]), sums[group]) for group in moved[:_MOST_GROUPS]]

    def measured(self, pairs: Sequence[CasePair]) -> dict[str, Compared]:
        """The measures of some of the pairs, by name."""
        told = [(pair.group, *pair.outcomes) for pair in pairs]
        nouns = self.a.nouns
        found = {each.name: compared(each, told, self._shares[each.name]) for each in self.a.measures}
        return {
            name: Compared(*(worded(number, nouns) for number in (each.a, each.b, each.difference)))
            for name, each in found.items()
        }

    @cached_property
    def _shares(self) -> dict[str, bool]:
        """Of each measure, whether its parts are all in [0, 1] in both."""
        outcomes = [*self.a.outcomes, *self.b.outcomes]
        return {measure.name: is_share(measure, outcomes) for measure in self.a.measures}

    def _row(self, pairs: Sequence[CasePair]) -> Difference:
        def mean(scores: list[float], groups: list[str]) -> Estimate:
            return worded(cluster_mean(scores, groups), self.a.nouns)

        def difference(a: list[float], b: list[float], groups: list[str]) -> Paired:
            return worded_pair(paired_difference(a, b, groups), self.a.nouns)

        return _row(pairs, mean, difference)


def compare(a: Summary, b: Summary) -> Comparison:
    """Pair two runs or results files by case.

    Raises:
        UsageError: They are of different benchmarks, or share no case in the same words.
    """
    if a.benchmark != b.benchmark or a.strata != b.strata or a.labels != b.labels:
        raise UsageError(f"{a.path} is a run of {a.benchmark}, {b.path} of {b.benchmark}: nothing to compare")
    ours, theirs = _by_key(a.outcomes), _by_key(b.outcomes)
    common = [key for key in ours if key in theirs]
    alike = [key for key in common if a.particulars.alike(ours[key][0].view, theirs[key][0].view)]
    if not alike:
        nouns = a.nouns
        otherwise = f"all {len(common)} {nouns.cases} of one name are worded otherwise"
        why = otherwise if common else f"no {nouns.case} in common"
        raise UsageError(f"{a.path} and {b.path}: {why}, so there is nothing to compare; are they of one corpus?")
    pairs = tuple(pair for key in alike if (pair := _pair(ours[key], theirs[key], a.labels[0])))
    return Comparison(a, b, pairs, len(alike), len(common) - len(alike), _judges(a, b, ours, theirs, alike))


def _judges(
    a: Summary,
    b: Summary,
    ours: Mapping[str, Sequence[Outcome]],
    theirs: Mapping[str, Sequence[Outcome]],
    keys: Iterable[str],
) -> Agreement | None:
    """How the judges agree, where all responses that both have are the same."""
    pairs = [
        (first, second)
        for key in keys
        for first in ours[key]
        for second in theirs[key]
        if first.epoch == second.epoch and first.response is not None and second.response is not None
    ]
    if not a.judges or not b.judges or not pairs or any(first.response != second.response for first, second in pairs):
        return None
    same = a.judge == b.judge
    names = (f"{a.judge} (a)", f"{b.judge} (b)") if same else (a.judge, b.judge)
    return agree_between(pairs, *names, a)


def _pair(ours: Sequence[Outcome], theirs: Sequence[Outcome], top: str) -> CasePair | None:
    """The pair of a case, when both have scored it."""
    scored = [[outcome for outcome in side if outcome.state == "scored"] for side in (ours, theirs)]
    if not all(scored):
        return None
    first = ours[0]
    scores = [sum(outcome.score for outcome in side) / len(side) for side in scored]
    passed = [sum(outcome.label == top for outcome in side) / len(side) for side in scored]
    return CasePair(
        first.key,
        first.stratum,
        first.group,
        first.meta,
        (scores[0], scores[1]),
        (passed[0], passed[1]),
        (scored[0], scored[1]),
    )


def _row(
    pairs: Sequence[CasePair],
    mean: Callable[[list[float], list[str]], Estimate],
    difference: Callable[[list[float], list[float], list[str]], Paired],
) -> Difference:
    groups = [pair.group for pair in pairs]
    scores = [[pair.score[side] for pair in pairs] for side in (0, 1)]
    passed = [[pair.passed[side] for pair in pairs] for side in (0, 1)]
    half = [[share > 0.5 for share in side] for side in passed]
    return Difference(
        pairs=len(pairs),
        scores=(mean(scores[0], groups), mean(scores[1], groups)),
        weighted=difference(scores[0], scores[1], groups),
        passes=difference(passed[0], passed[1], groups),
        discordant=discordant(half[0], half[1]),
    )


def _by_key(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    by_key: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_key[outcome.key].append(outcome)
    return by_key


def _grouped(pairs: Iterable[CasePair], name: Callable[[CasePair], str | int]) -> dict[str | int, list[CasePair]]:
    groups: defaultdict[str | int, list[CasePair]] = defaultdict(list)
    for pair in pairs:
        groups[name(pair)].append(pair)
    return {group: groups[group] for group in sorted(groups, key=lambda group: (isinstance(group, str), group))}


def _short(value: str | None) -> str:
    """JSON of a value, fit for a line."""
    text = "none" if value in (None, "null") else value.strip('"')
    return text if len(text) <= _LONGEST_VALUE else f"{text[:12]}..."
