"""How far a judge of PROBE agrees with the grades that the sample's authors gave 48 answers by hand."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dspy_proact.benchmarks.probe.corpus import sample_graded_descriptions, sample_graded_parameters
from dspy_proact.benchmarks.probe.corpus.grade import (
    JUDGMENT_SCORES,
    FacetGrades,
    FacetWord,
    IdentificationVerdict,
    ParametersVerdict,
    ProbeGrade,
)
from dspy_proact.report.summary import Summary
from dspy_proact.report.words import worded
from dspy_proact.stats import Estimate, Weight, cluster_mean, kappa_estimate

WORDS = tuple(sorted(JUDGMENT_SCORES, key=lambda word: JUDGMENT_SCORES[word]))
"""A judge's words, the worst first."""
_RESOLVES = ("no", "partially", "yes")


@dataclass(frozen=True)
class AgreementRow:
    """One thing that both say of the same answers."""

    about: str
    """Descriptions or parameters."""
    name: str
    """Of the facet, or what else is said."""
    asked: int
    """Answers that were to be graded."""
    graded: int
    """Those whose verdict was read."""
    same: int
    """Those of which both say the same."""
    share: Estimate
    """Of the graded, in [0, 1], higher is better; clustered by person."""
    kappa: Estimate
    """Cohen's, in [-1, 1]: with quadratic weights where the words have an order, else unweighted."""


@dataclass(frozen=True)
class ProbeAgreement:
    """What a judge says beside what the authors say."""

    judge: str
    embedded: bool
    people: int
    """Whose tasks they are."""
    rows: tuple[AgreementRow, ...]
    """Descriptions, facet by facet, then the word on the whole; then parameters."""
    learned_on: int = 0
    """Answers of tasks that its program was compiled on."""

    def row(self, about: str, name: str) -> AgreementRow:
        """The one of a name."""
        return next(each for each in self.rows if (each.about, each.name) == (about, name))


def judge_agreements(summary: Summary, learned_on: int = 0) -> tuple[ProbeAgreement, ...]:
    """One a judge, over a run on the graded answers.

    Args:
        summary: Of the run.
        learned_on: Answers of tasks that the judges' program was compiled on.
    """
    return tuple(_agreement(summary, judge, learned_on) for judge in summary.judges)


def _agreement(summary: Summary, judge: str, learned_on: int) -> ProbeAgreement:
    grades: dict[str, ProbeGrade] = {}
    for outcome in summary.outcomes:
        for verdict in outcome.verdicts:
            if verdict.judge == judge and outcome.key not in grades:
                grades[outcome.key] = ProbeGrade.model_validate(verdict.detail)
    people = {outcome.key: outcome.group for outcome in summary.outcomes}
    described = {each.key: each.verdict for each in sample_graded_descriptions()}
    filled = {each.key: each.verdict for each in sample_graded_parameters()}
    descriptions = _Sides(
        "descriptions", people, described, {key: grade.identified for key, grade in grades.items() if grade.identified}
    )
    parameters = _Sides(
        "parameters", people, filled, {key: grade.resolved for key, grade in grades.items() if grade.resolved}
    )
    rows = (
        *(descriptions.row(name, _facet(name), get_args(FacetWord)) for name in FacetGrades.model_fields),
        descriptions.row("word", _word, WORDS, "quadratic"),
        parameters.row("word", _word, WORDS, "quadratic"),
        parameters.row("would resolve", _resolves, _RESOLVES, "quadratic"),
    )
    told = tuple(worded(row, summary.nouns) for row in rows)
    return ProbeAgreement(summary.judge_names[judge], summary.embedded, len(set(people.values())), told, learned_on)


@dataclass(frozen=True)
class _Sides:
    """Verdicts of one kind by both, by answer."""

    about: str
    people: Mapping[str, str]
    """Of the answers that were to be graded."""
    theirs: Mapping[str, Any]
    ours: Mapping[str, Any]

    def row(
        self, name: str, of: Callable[[Any], str], labels: Sequence[Hashable], weight: Weight = "none"
    ) -> AgreementRow:
        """What both say of one thing; nothing that was read has no value."""
        keys = [key for key in self.theirs if key in self.ours]
        right, said = ([of(side[key]) for key in keys] for side in (self.theirs, self.ours))
        groups = [self.people[key] for key in keys]
        same = [float(one == other) for one, other in zip(right, said, strict=True)]
        return AgreementRow(
            about=self.about,
            name=name,
            asked=sum(key in self.people for key in self.theirs),  # a run may be limited to some
            graded=len(keys),
            same=round(sum(same)),
            share=cluster_mean(same, groups),
            kappa=kappa_estimate(right, said, labels, groups, weight),
        )


def _facet(name: str) -> Callable[[IdentificationVerdict], str]:
    return lambda verdict: getattr(verdict.facets, name)


def _word(verdict: IdentificationVerdict | ParametersVerdict) -> str:
    return verdict.judgment


def _resolves(verdict: ParametersVerdict) -> str:
    return verdict.would_resolve
