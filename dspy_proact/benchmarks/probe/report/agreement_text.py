"""How far a judge agrees with the graded answers, as a person reads it, and as JSON."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from dspy_proact.benchmarks.probe.report.agreement import AgreementRow, ProbeAgreement
from dspy_proact.report.document import document
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, coefficient, percent, share
from dspy_proact.report.terminal import Table, each_reason, show, table

_ABOUT = (
    "The grades are of the sample's authors, who are language-model agents, on answers that they wrote to be of four "
    "qualities: agreement with them says nothing of people, and nothing of answers that a model would give."
)


def agreement_headline(found: ProbeAgreement) -> str:
    """To how many answers of each kind the judge gives the authors' word, with the intervals."""
    told: list[str] = []
    for about in ("descriptions", "parameters"):
        row = found.row(about, "word")
        of = f"{row.same} of {row.graded}" if row.graded == row.asked else f"{row.same} of the {row.graded} read"
        rate = "" if row.share.value is None else f" ({share(row.share.value)} %, {bounds(row.share)})"
        told.append(f"to {of} {'sets of ' if about == 'parameters' else ''}{about}{rate}")
    begin = MEASURES_NOTHING if found.embedded else ""
    no_test = f"; it was compiled on {found.learned_on} of these answers, so that this is no test of it"
    return f"{begin}{found.judge} gives the authors' word {' and '.join(told)}{no_test if found.learned_on else ''}."


def print_agreement(found: ProbeAgreement, console: Console, explain: bool = False) -> None:
    """Print what it shows, and each thing that both say.

    Args:
        found: What is reported.
        console: Where it is printed.
        explain: Whether what the numbers rest on follows.
    """
    show(console, agreement_headline(found), _table(found), *_said(found), *(_notes() if explain else ()))


def agreement_document(found: ProbeAgreement) -> dict[str, Any]:
    """The document of `agree --benchmark probe --json`."""
    rows = [{**document(row), "share": row.share.for_json(), "kappa": row.kappa.for_json()} for row in found.rows]
    told = {"judge": found.judge, "embedded": found.embedded, "people": found.people, "learned_on": found.learned_on}
    return {"headline": agreement_headline(found), **told, "rows": rows}


def _table(found: ProbeAgreement) -> Table:
    rows = {
        about: [
            [f"{row.name}", f"{row.same}/{row.graded}", percent(row.share), coefficient(row.kappa)]
            for row in found.rows
            if row.about == about
        ]
        for about in ("descriptions", "parameters")
    }
    sections = ([[f"{name}:" if place == 0 else "", *row] for place, row in enumerate(of)] for name, of in rows.items())
    return table(("of", "both say the same", "n", "share, %", "kappa"), *sections, names=1)


def _said(found: ProbeAgreement) -> Iterator[str]:
    for about in ("descriptions", "parameters"):
        row = found.row(about, "word")
        if row.graded < row.asked:
            yield f"{about}: {row.asked - row.graded} of {row.asked} left out for want of a verdict that could be read."
    yield from each_reason(reason for row in found.rows for reason in _reasons(row))
    yield _ABOUT


def _reasons(row: AgreementRow) -> Iterator[tuple[str, str | None]]:
    """What is wrong with its two numbers, which is told of both at once where it is the same."""
    name = f"{row.name} of {row.about}"
    if row.share.reason == row.kappa.reason:
        yield name, row.share.reason
    else:
        yield f"share of {name}", row.share.reason
        yield f"kappa of {name}", row.kappa.reason


def _notes() -> Iterator[str]:
    yield (
        "share: of the answers that were read, cluster-robust over people. kappa: what is beyond chance, with a "
        "jackknife over people. Both speak of other tasks, and of no other graders. "
        "Quadratic weights for word and would resolve, none for facets."
    )
    yield "word: CORRECT, PARTIALLY_CORRECT or INCORRECT; no score is made of it where there are facets."
