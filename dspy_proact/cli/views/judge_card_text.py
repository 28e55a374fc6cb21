"""The card of a compiled judge, as a person reads it."""

from collections.abc import Iterator

from dspy_proact.benchmarks.proactbench.compile.judge.card import advice
from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN
from dspy_proact.benchmarks.proactbench.programs import CasesRight, Gain, JudgeCard
from dspy_proact.cli.views.card_text import print_card, recipe_text, unread_text, versions_text
from dspy_proact.programs import CardNumber
from dspy_proact.programs.artefact import JudgeArtefact
from dspy_proact.report import Table, coefficient, counted, each_reason, probability, share, table


def print_judge_card(artefact: JudgeArtefact, explain: bool) -> None:
    """Print what a compile showed, out of fold; to explain it, also with what it was made and what stands beside it."""
    made, votes = artefact.card.provenance, f"{artefact.votes} vote{'s' if artefact.votes > 1 else ''}"
    heading = f"judge {made.models['judge'].model} tuned to {made.data.name}: {recipe_text(made.recipe)}, {votes}"
    rests_on = [_beside(artefact), *_notes(artefact)] if explain else []
    print_card(artefact.card, heading, _gains(artefact), *_said(artefact.card), *rests_on)


def _gains(artefact: JudgeArtefact) -> Table:
    told = (
        [
            name,
            str(gain.labels),
            *(coefficient(number.estimate) for number in (gain.before, gain.after, gain.difference)),
            probability(gain.p),
        ]
        for name, gain in _rows(artefact.card).items()
    )
    return table(("kappa", "items", "before", "after", "gain", "p"), told, fold=False)


def _rows(card: JudgeCard) -> dict[str, Gain]:
    return {"average": card.overall, **card.phases}


def _beside(artefact: JudgeArtefact) -> Table:
    told: list[list[str]] = []
    for phase, gain in artefact.card.phases.items():
        exact = [share(number.value, 0) for number in (gain.exact_before, gain.exact_after, gain.exact_commonest)]
        kappas = map(_value, (gain.one_human, gain.best_attainable, gain.bias_before, gain.bias_after))
        told.append([phase, *exact, *kappas])
    return table(
        ("exact, in %", "before", "after", "commonest", "one human", "best", "bias before", "after"), told, fold=False
    )


def _said(card: JudgeCard) -> Iterator[str]:
    """What a person must know, and where nothing was shown, what to do for it."""
    yield from each_reason((name, gain.difference.reason) for name, gain in _rows(card).items())
    before, after = card.evidence_before, card.evidence_after
    if card.unread:
        yield f"{counted(card.unread, 'response')} left out because a verdict on them could not be read."
    if before[0] < before[1] or after[0] < after[1]:
        yield (
            f"verdicts with a quote that stands in the response: {before[0]} of {before[1]} before, {after[0]} of "
            f"{after[1]} after."
        )
    if card.cases:
        yield _cases(card.cases)
    if not card.shown:
        yield f"{advice({phase: gain.labels for phase, gain in card.phases.items()})}."


def _cases(cases: CasesRight) -> str:
    lost = f"; {counted(cases.dropped, 'candidate')} that lost one could not win" if cases.dropped else ""
    return (
        f"worked cases of the judge's rules: {cases.before} of {cases.of} right before, {cases.after} after, none lost"
        f"{lost}."
    )


def _notes(artefact: JudgeArtefact) -> list[str]:
    card, state = artefact.card, artefact.state
    made = card.provenance
    low = "-" if card.overall.low98 is None else f"{card.overall.low98:+.2f}"
    cuts = ", ".join(
        f"{phase} {cut.partial:g}/{cut.full:g}" for phase, cut in artefact.cuts.items() if cut != PLAIN[phase]
    )
    return [
        "kappa: quadratic, against the shares of people's grades, within phases. Each response was graded by a program "
        "that never saw its persona or scenario; the program in this file was compiled on all items and has no score "
        f"of its own. Claimed only where the 98 % interval lies above 0: its lower end is {low}"
        f"{unread_text(card.overall.low98_unread, '{:+.2f}'.format)}.",
        "exact: verdicts equal to people's commonest grade; commonest: what always giving that grade would earn. one "
        "human, best: kappa of one person with another, and the best attainable. bias: mean score of the judge minus "
        "people's; a change of it is a change of strictness, not of agreement.",
        f"{card.raters} raters, {card.scenarios} scenarios, {len(card.fold_scores)} folds.",
        f"{len(state.demos)} demos, cuts on the mean level: "
        f"{cuts or 'the plain ones'}; {100 * card.overlap:.0f} % of the instruction's runs of eight words stand in "
        "an item.",
        f"made {made.created} with {versions_text(made.versions)}; "
        f"proposer {made.models['proposer'].model}; ratings {made.data.sha256[:12]}; program {artefact.digest[:12]}.",
    ]


def _value(number: CardNumber) -> str:
    return "-" if number.value is None else f"{number.value:+.2f}".replace("+0.", ".").replace("-0.", "-.")
