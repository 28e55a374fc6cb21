"""How two differ over pairs of cases, by stratum and over all."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from dspy_proact.report.words import worded
from dspy_proact.runs import Nouns, Outcome, State
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
        """The pair of a case; None where either has no outcome in one of these states.

        Args:
            ours: Those of a, one an epoch, at least one.
            theirs: Those of b.
            top: The label of a full pass.
            states: That count.
        """
        counted = [[outcome for outcome in side if outcome.state in states] for side in (ours, theirs)]
        if not all(counted):
            return None
        first = ours[0]
        a, b = (sum(outcome.score for outcome in side) / len(side) for side in counted)
        passed_a, passed_b = (sum(outcome.label == top for outcome in side) / len(side) for side in counted)
        scored = [[outcome for outcome in side if outcome.state == "scored"] for side in counted]
        return cls(
            first.key,
            first.stratum,
            first.group,
            first.meta,
            (a, b),
            (passed_a, passed_b),
            (scored[0], scored[1]),
            (len(counted[0]) - len(scored[0]), len(counted[1]) - len(scored[1])),
        )


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
class Differences:
    """b minus a over pairs, by stratum and over all."""

    pairs: tuple[CasePair, ...]
    strata: tuple[str, ...]
    """In the order of reports."""
    nouns: Nouns

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
        strata = {"strata": [pair.stratum for pair in self.pairs], "order": self.strata}
        return self.row(self.pairs, partial(macro_mean, **strata), partial(macro_paired_difference, **strata))

    @cached_property
    def adjusted(self) -> dict[str, tuple[float | None, float | None]]:
        """By stratum: p of the weighted and of the pass difference, Holm-adjusted over the strata."""
        weighted = holm([row.weighted.p for row in self.rows.values()])
        passes = holm([row.passes.p for row in self.rows.values()])
        return dict(zip(self.rows, zip(weighted, passes, strict=True), strict=True))

    def row(
        self,
        pairs: Sequence[CasePair],
        mean: Callable[[list[float], list[str]], Estimate] = cluster_mean,
        difference: Callable[[list[float], list[float], list[str]], Paired] = paired_difference,
    ) -> Difference:
        """Over some of the pairs."""
        groups = [pair.group for pair in pairs]
        a, b = ([pair.score[side] for pair in pairs] for side in (0, 1))
        passed_a, passed_b = ([pair.passed[side] for pair in pairs] for side in (0, 1))
        found = Difference(
            pairs=len(pairs),
            scores=(mean(a, groups), mean(b, groups)),
            weighted=difference(a, b, groups),
            passes=difference(passed_a, passed_b, groups),
            discordant=discordant([share > 0.5 for share in passed_a], [share > 0.5 for share in passed_b]),
        )
        return worded(found, self.nouns)
