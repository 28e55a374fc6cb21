"""How far a judge of PROBE agrees with the grades that the sample's authors gave 48 answers by hand."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rich.console import Console

from dspy_proact.benchmarks.probe.graded import sample_graded_descriptions, sample_graded_parameters
from dspy_proact.benchmarks.probe.scoring import JUDGMENT_SCORES, FacetGrades, FacetWord, ProbeGrade
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, coefficient, document, percent, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import each_reason, show, table
from dspy_proact.stats import Estimate, Weight, cluster_mean, kappa_estimate

WORDS = tuple(sorted(JUDGMENT_SCORES, key=lambda word: JUDGMENT_SCORES[word]))
"""A judge's words, the worst first."""
_RESOLVES = ("no", "partially", "yes")
_KINDS = ("descriptions", "parameters")
_ABOUT = (
    "The grades are of the sample's authors, who are language-model agents, on answers that they wrote to be of four "
    "qualities: agreement with them says nothing of people, and nothing of answers that a model would give."
)
_NOTES = (
    "share: of the answers that were read, cluster-robust over people. kappa: agreement beyond chance, with a "
    "jackknife over people. Both generalise to other tasks, not to other graders. Quadratic weights for word and "
    "would resolve, none for facets.",
    "word: CORRECT, PARTIALLY_CORRECT or INCORRECT; no score is made of it where there are facets.",
)


@dataclass(frozen=True)
class AgreementRow:
    """One thing that judge and authors both say of the same answers."""

    about: str
    """Descriptions or parameters."""
    name: str
    """Of the facet, or what else is said."""
    asked: int
    """Answers that were to be graded."""
    graded: int
    """Those whose verdict could be read."""
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
        """The row of a name."""
        return next(row for row in self.rows if (row.about, row.name) == (about, name))


def judge_agreements(summary: Summary, learned_on: int = 0) -> tuple[ProbeAgreement, ...]:
    """One per judge, over a run on the graded answers.

    Args:
        summary: Of the run.
        learned_on: Answers of tasks that the judges' program was compiled on.
    """
    return tuple(_agreement(summary, judge, learned_on) for judge in summary.judges)


def _agreement(summary: Summary, judge: str, learned_on: int) -> ProbeAgreement:
    people = {outcome.key: outcome.group for outcome in summary.outcomes}
    authors = {
        "descriptions": {each.key: each.verdict for each in sample_graded_descriptions()},
        "parameters": {each.key: each.verdict for each in sample_graded_parameters()},
    }
    verdicts: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
    for outcome in summary.outcomes:
        for verdict in (each for each in outcome.verdicts if each.judge == judge):
            grade = ProbeGrade.model_validate(verdict.detail)
            for kind, said in zip(_KINDS, (grade.identified, grade.resolved), strict=True):
                if said:
                    verdicts[kind].setdefault(outcome.key, said)

    def row(
        about: str, name: str, of: Callable[[Any], str], labels: Sequence[Hashable], weight: Weight = "none"
    ) -> AgreementRow:
        theirs, ours = authors[about], verdicts[about]
        keys = [key for key in theirs if key in ours]
        right, said = ([of(side[key]) for key in keys] for side in (theirs, ours))
        groups = [people[key] for key in keys]
        same = [float(one == other) for one, other in zip(right, said, strict=True)]
        return AgreementRow(
            about=about,
            name=name,
            asked=sum(key in people for key in theirs),  # a run may be limited to some
            graded=len(keys),
            same=round(sum(same)),
            share=cluster_mean(same, groups),
            kappa=kappa_estimate(right, said, labels, groups, weight),
        )

    facets = (
        row("descriptions", name, lambda verdict, name=name: getattr(verdict.facets, name), get_args(FacetWord))
        for name in FacetGrades.model_fields
    )
    rows = (
        *facets,
        *(row(kind, "word", lambda verdict: verdict.judgment, WORDS, "quadratic") for kind in _KINDS),
        row("parameters", "would resolve", lambda verdict: verdict.would_resolve, _RESOLVES, "quadratic"),
    )
    named = tuple(worded(each, summary.nouns) for each in rows)
    return ProbeAgreement(summary.judge_names[judge], summary.embedded, len(set(people.values())), named, learned_on)


def agreement_headline(found: ProbeAgreement) -> str:
    """On how many answers of each kind the judge gives the authors' word, with the intervals."""
    parts: list[str] = []
    for about in _KINDS:
        row = found.row(about, "word")
        of = f"{row.same} of {row.graded}" if row.graded == row.asked else f"{row.same} of the {row.graded} read"
        rate = "" if row.share.value is None else f" ({share(row.share.value)} %, {bounds(row.share)})"
        parts.append(f"to {of} {'sets of ' if about == 'parameters' else ''}{about}{rate}")
    begin = MEASURES_NOTHING if found.embedded else ""
    no_test = f"; it was compiled on {found.learned_on} of these answers, so that this is no test of it"
    return f"{begin}{found.judge} gives the authors' word {' and '.join(parts)}{no_test if found.learned_on else ''}."


def agreement_document(found: ProbeAgreement) -> dict[str, Any]:
    """The document of `agree --benchmark probe --json`."""
    rows = [{**document(row), "share": row.share.for_json(), "kappa": row.kappa.for_json()} for row in found.rows]
    about = {"judge": found.judge, "embedded": found.embedded, "people": found.people, "learned_on": found.learned_on}
    return {"headline": agreement_headline(found), **about, "rows": rows}


def print_agreement(found: ProbeAgreement, console: Console, explain: bool = False) -> None:
    """Print the headline, and each thing that both say.

    Args:
        found: What is reported.
        console: Where it is printed.
        explain: Whether notes on the numbers follow.
    """
    sections = [
        [
            ["", row.name, f"{row.same}/{row.graded}", percent(row.share), coefficient(row.kappa)]
            for row in found.rows
            if row.about == about
        ]
        for about in _KINDS
    ]
    for about, section in zip(_KINDS, sections, strict=True):
        section[0][0] = f"{about}:"
    rows = table(("of", "both say the same", "n", "share, %", "kappa"), *sections, names=1)
    show(console, agreement_headline(found), rows)
    for about in _KINDS:
        row = found.row(about, "word")
        if row.graded < row.asked:
            left_out = row.asked - row.graded
            show(console, f"{about}: {left_out} of {row.asked} left out, because their verdict could not be read.")
    show(console, *each_reason(reason for row in found.rows for reason in _reasons(row)), _ABOUT)
    if explain:
        show(console, *_NOTES)


def _reasons(row: AgreementRow) -> Iterator[tuple[str, str | None]]:
    """Why its two numbers have no interval, said of both at once where the reason is the same."""
    name = f"{row.name} of {row.about}"
    if row.share.reason == row.kappa.reason:
        yield name, row.share.reason
    else:
        yield from ((f"share of {name}", row.share.reason), (f"kappa of {name}", row.kappa.reason))
