"""How far judges agree with the people whose grades a benchmark declares, part by part of a grading.

Each of a person's grades of an answer is set beside the judge's verdict on the same answer; where several people graded
one, so is each person beside each other: the human reference. Nothing is pooled over parts.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark, Part
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, coefficient, counted, document, percent, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import each_reason, show, table
from dspy_proact.report.voted import NOTE, VotedRow, voted_rows, voted_table
from dspy_proact.runs import Scored
from dspy_proact.stats import Estimate, cluster_mean, kappa_estimate


@dataclass(frozen=True)
class AgreementRow:
    """One part that judge and people both grade, on the same answers."""

    part: str
    """Its name; `grade` for the grading as a whole."""
    leads: bool
    """Whether it is the first part of some answers; the headline is about these."""
    asked: int
    """Answers that people graded, of those in the run."""
    graded: int
    """Those whose verdict could be read."""
    same: float
    """Answers on which judge and people agree; one that several people graded counts as the share who agree."""
    share: Estimate
    """Of the graded, in [0, 1], higher is better; clustered by group."""
    kappa: Estimate
    """Cohen's with a person, in [-1, 1]: with quadratic weights on an ordinal scale, else unweighted."""
    people: Estimate
    """Kappa of one person with another; no value where no answer was graded by two."""


@dataclass(frozen=True)
class HumanAgreement:
    """A judge beside people."""

    judge: str
    embedded: bool
    raters: int
    groups: int
    """Of the answers."""
    rows: tuple[AgreementRow, ...]
    """One a part, in the order in which they are declared."""
    learned_on: int = 0
    """Answers of cases that its program was compiled on."""
    about_raters: str = ""
    """What a reader must know of the people, in sentences."""
    voted: Mapping[str, tuple[VotedRow, ...]] = field(default_factory=dict[str, tuple[VotedRow, ...]], hash=False)
    """By part, the judge beside people who voted, where several did between two levels."""


def human_agreements(declared: Benchmark[Any, Any], run: Summary, learned_on: int = 0) -> tuple[HumanAgreement, ...]:
    """One a judge, over a run on the answers that people graded.

    Args:
        declared: The benchmark, with its human grades.
        run: On these answers, as `Responses.of_human_grades` makes them.
        learned_on: Answers of cases that the judge's program was compiled on.
    """
    groups = {outcome.key: outcome.group for outcome in run.outcomes}
    given: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))  # by part and answer
    raters = set[str]()
    for grade in declared.human_grades():
        if (grade.item or grade.case) in groups:  # a run may be limited to some
            given[grade.part][grade.item or grade.case].append(grade.grade)
            raters.add(grade.rater)
    parts = declared.graded_by_people
    graded = {key for answers in given.values() for key in answers}
    leading = {next(part.name for part in parts if key in given[part.name]) for key in graded}
    agreements: list[HumanAgreement] = []
    for judge in run.judges:
        said: dict[str, dict[str, str]] = defaultdict(dict)  # and by answer
        likely: dict[str, dict[str, float]] = defaultdict(dict)
        for outcome in run.outcomes:
            kind = run.particulars.detail(outcome.stratum)
            for verdict in [each for each in outcome.verdicts if each.judge == judge][:1]:  # the first, if there is one
                detail: Any = kind.model_validate(verdict.detail) if kind else SimpleNamespace(**verdict.detail)
                scored = Scored(verdict.score, verdict.label, detail)
                for name, level in declared.graded_parts(scored).items():
                    said[name][outcome.key] = level
                for name, probability in declared.likelihoods(scored).items():
                    likely[name][outcome.key] = probability
        rows = tuple(
            worded(_row(part, part.name in leading, given[part.name], said[part.name], groups), run.nouns)
            for part in parts
        )
        name = run.judge_names[judge]
        voted = dict[str, tuple[VotedRow, ...]]()
        for part in parts:
            of, sure = said[part.name], likely[part.name]
            if found := voted_rows(name, part, given=given[part.name], said=of, likely=sure, groups=groups):
                voted[part.name or "grade"] = tuple(worded(row, run.nouns) for row in found)
        about = name, run.embedded, len(raters), len(set(groups.values()))
        agreements.append(HumanAgreement(*about, rows, learned_on, declared.about_raters, voted))
    return tuple(agreements)


def _row(
    part: Part, leads: bool, given: dict[str, list[str]], said: dict[str, str], groups: dict[str, str]
) -> AgreementRow:
    keys = [key for key in given if key in said]
    agreed = [sum(grade == said[key] for grade in given[key]) / len(given[key]) for key in keys]
    pairs = [(grade, said[key], groups[key]) for key in keys for grade in given[key]]
    both = [(one, other, groups[key]) for key in given for one, other in permutations(given[key], 2)]

    def kappa(rows: list[tuple[str, str, str]], nothing: str) -> Estimate:
        if not rows:
            return Estimate(None, reason=nothing)
        first, second, where = zip(*rows, strict=True)
        return kappa_estimate(first, second, part.levels, where, part.weight)

    return AgreementRow(
        part=part.name or "grade",
        leads=leads,
        asked=len(given),
        graded=len(keys),
        same=sum(agreed),
        share=cluster_mean(agreed, [groups[key] for key in keys]),
        kappa=kappa(pairs, "no graded case"),
        people=kappa(both, "no answer was graded by two people"),
    )


def human_agreement_headline(agreement: HumanAgreement) -> str:
    """On how many answers the judge agrees with people, with the interval; it speaks of these raters only."""
    several, shares = len(agreement.rows) > 1, list[str]()
    for row in agreement.rows:
        if row.leads:
            read = f"{row.graded}" if row.graded == row.asked else f"the {row.graded} read"
            rate = "" if row.share.value is None else f" ({share(row.share.value)} %, {bounds(row.share)})"
            shares.append(f"to {f'the {row.part} of ' if several else ''}{row.same:g} of {read} answers{rate}")
    people = "the only rater" if agreement.raters == 1 else f"these {counted(agreement.raters, 'rater')}"
    begin = MEASURES_NOTHING if agreement.embedded else ""
    no_test = f"; it was compiled on {agreement.learned_on} of these answers, so that this is no test of it"
    given = f"{agreement.judge} gives the grade of {people} {' and '.join(shares)}"
    return f"{begin}{given}{no_test if agreement.learned_on else ''}."


def human_agreement_document(agreement: HumanAgreement) -> dict[str, Any]:
    """The document of `agree --json`, of one judge."""
    rows = [
        {**document(row), **{name: getattr(row, name).for_json() for name in ("share", "kappa", "people")}}
        for row in agreement.rows
    ]
    about = {name: getattr(agreement, name) for name in ("judge", "embedded", "raters", "groups", "learned_on")}
    voted = {
        part: [
            {"name": row.name, "answers": row.answers} | {name: each.for_json() for name, each in row.estimates.items()}
            for row in found
        ]
        for part, found in agreement.voted.items()
    }
    found = {"headline": human_agreement_headline(agreement), **about, "rows": rows}
    return found | ({"voted": voted} if voted else {})


def print_human_agreement(agreement: HumanAgreement, console: Console, explain: bool = False) -> None:
    """Print the headline and each part; with `explain`, notes on the numbers."""
    with_people = any(row.people.value is not None for row in agreement.rows)
    sections, reasons = list[list[list[str]]](), list[tuple[str, str | None]]()
    for row in agreement.rows:
        people = [coefficient(row.people)] if with_people else []
        cells = [row.part, f"{row.same:g}/{row.graded}", percent(row.share), coefficient(row.kappa), *people]
        if row.leads or not sections:
            sections.append([])
        sections[-1].append(cells)
        if row.share.reason == row.kappa.reason:
            reasons.append((row.part, row.share.reason))
        else:
            reasons += [(f"share of {row.part}", row.share.reason), (f"kappa of {row.part}", row.kappa.reason)]
    headings = ("both say the same", "n", "share, %", "kappa", *(["one person, kappa"] if with_people else []))
    show(console, human_agreement_headline(agreement), table(headings, *sections))
    for found in agreement.voted.values():
        show(console, voted_table(found))
        by_row = {row.name: dict.fromkeys(each.reason for each in row.estimates.values()) for row in found}
        reasons += [(name, reason) for name, several in by_row.items() for reason in several]
    for row in agreement.rows:
        if row.leads and row.graded < row.asked:
            left_out = row.asked - row.graded
            show(console, f"{row.part}: {left_out} of {row.asked} left out, because their verdict could not be read.")
    show(console, *each_reason(reasons), *filter(None, [agreement.about_raters]))
    if explain:
        show(console, *([NOTE] if agreement.voted else []))
        few = f" {counted(agreement.raters, 'rater')} cannot stand for people in general."
        limits = f"not to other graders.{few if agreement.raters <= 3 else ''}"
        show(
            console,
            "share: of the answers whose verdict could be read, cluster-robust over groups.",
            "kappa: agreement beyond chance, with a jackknife over groups; quadratic weights on ordinal scales, none "
            f"on nominal ones. Both generalise to other cases, {limits}",
        )
