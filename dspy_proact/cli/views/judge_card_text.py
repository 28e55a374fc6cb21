"""The card of a compiled judge, as a person reads it."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dspy_proact.cli.views.card_text import recipe_text, usage_text, versions_text
from dspy_proact.programs import CardNumber, JudgeArtefact
from dspy_proact.report import STAND_IN, cell, coefficient, probability

_PLAIN = (0.5, 1.5)
"""Cuts that round the mean level of several verdicts to the nearest grade."""


def print_judge_card(artefact: JudgeArtefact) -> None:
    """Print what a compile showed, out of fold, with what it was made."""
    console, card = Console(soft_wrap=False), artefact.card
    made = card.provenance
    recipe = f"{recipe_text(made.recipe)}, {artefact.votes} vote{'s' if artefact.votes > 1 else ''}"
    console.print(cell(f"judge {made.models['judge'].model} tuned to {made.data.name}: {recipe}"))
    if made.embedded:
        console.print(cell(STAND_IN))
    console.print(cell(f"{card.statement}."))
    console.print(_gains(artefact))
    console.print(_beside(artefact))
    for line in _notes(artefact):
        console.print(cell(line))


def _gains(artefact: JudgeArtefact) -> Table:
    card = artefact.card
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("kappa", no_wrap=True)
    for heading in ("n", "before", "after", "gain", "p"):
        table.add_column(cell(heading), justify="right", no_wrap=True)
    rows = {"average": card.overall, **{str(phase): gain for phase, gain in card.phases.items()}}
    for name, gain in rows.items():
        numbers = [_number(gain.before), _number(gain.after), _number(gain.difference)]
        table.add_row(*map(cell, [name, str(gain.labels), *numbers, probability(gain.p)]))
    return table


def _beside(artefact: JudgeArtefact) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("exact, in %", no_wrap=True)
    for heading in ("before", "after", "commonest", "one human", "best", "bias before", "after"):
        table.add_column(cell(heading), justify="right", no_wrap=True)
    for phase, gain in artefact.card.phases.items():
        exact = [_share(number) for number in (gain.exact_before, gain.exact_after, gain.exact_commonest)]
        kappas = [_value(number) for number in (gain.one_human, gain.best_attainable)]
        bias = [_value(number) for number in (gain.bias_before, gain.bias_after)]
        table.add_row(*map(cell, [str(phase), *exact, *kappas, *bias]))
    return table


def _notes(artefact: JudgeArtefact) -> list[str]:
    card, state = artefact.card, artefact.state
    made = card.provenance
    low = "-" if card.overall.low98 is None else f"{card.overall.low98:+.2f}"
    cuts = ", ".join(
        f"{phase} {cut.partial:g}/{cut.full:g}"
        for phase, cut in artefact.cuts.items()
        if (cut.partial, cut.full) != (0.5, 1.5)
    )
    before, after = card.evidence_before, card.evidence_after
    return [
        "kappa: quadratic, against the shares of people's grades, within phases. Each response was graded by a program "
        "that never saw its persona or scenario; the program in this file was compiled on all labels and has no score "
        f"of its own. Claimed only where the 98 % interval lies above 0: its lower end is {low}.",
        "exact: verdicts equal to people's commonest grade; commonest: what always giving that grade would earn. one "
        "human, best: kappa of one person with another, and the best attainable. bias: mean score of the judge minus "
        "people's; a change of it is a change of strictness, not of agreement.",
        f"{card.raters} raters, {card.scenarios} scenarios, {len(card.fold_scores)} folds; {card.unread} responses "
        "left out because a verdict on them could not be read.",
        f"verdicts with a quote that stands in the response: {before[0]} of {before[1]} before, {after[0]} of "
        f"{after[1]} after.",
        f"1,000 verdicts: {usage_text(card.usage_before)} before, {usage_text(card.usage_after)} after.",
        f"{len(state.demos)} demos, cuts on the mean level: "
        f"{cuts or 'the plain ones'}; {100 * card.overlap:.0f} % of the instruction's runs of eight words stand in a "
        "labelled item.",
        f"made {made.created} with {versions_text(made.versions)}; "
        f"proposer {made.models['proposer'].model}; ratings {made.data.sha256[:12]}; program {artefact.digest[:12]}.",
    ]


def _number(number: CardNumber) -> str:
    return coefficient(number.estimate)


def _share(number: CardNumber) -> str:
    return "-" if number.value is None else f"{100 * number.value:.0f}"


def _value(number: CardNumber) -> str:
    return "-" if number.value is None else f"{number.value:+.2f}".replace("+0.", ".").replace("-0.", "-.")
