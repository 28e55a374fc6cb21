"""The card of a compiled agent, as a person reads it."""

from dspy_proact.cli.views.card_text import print_card, recipe_text, unread_text, versions_text
from dspy_proact.programs import AgentCard
from dspy_proact.programs.artefact import AgentArtefact, SeveralArtefact
from dspy_proact.programs.card import Change
from dspy_proact.report import Table, counted, each_reason, percent, points_of, probability, share, signed, table


def print_agent_card(artefact: SeveralArtefact, explain: bool) -> None:
    """Print each measure before and after, out of fold; to explain it, also with what it was made."""
    card, made = artefact.card, artefact.card.provenance
    tuned = made.models["assistant" if isinstance(artefact, AgentArtefact) else "judge"].model
    named = artefact.agent if isinstance(artefact, AgentArtefact) else "judges"
    told = f"{named} of {artefact.benchmark} on {tuned}"
    heading = f"{told} tuned on {made.data.name}: {recipe_text(made.recipe)}"
    warnings = (f"warning: {warning}." for warning in card.warnings)
    rests_on = [_candidates(card), *_notes(artefact)] if explain else []
    print_card(card, heading, *warnings, _stages(card), *_said(card), *rests_on)


def _stages(card: AgentCard) -> Table:
    rows = ([name, *_row(change)] for name, change in {f"{card.aim}*": card.target, **card.stages}.items())
    return table(("out of fold", "n", "before", "after", "change", "p"), rows, fold=False)


def _row(change: Change) -> list[str]:
    count = str(change.count) if change.count == change.total else f"{change.count}/{change.total}"
    before, after = percent(change.before.estimate), percent(change.after.estimate)
    return [count, before, after, points_of(change.difference.estimate), probability(change.p)]


def _said(card: AgentCard) -> list[str]:
    """What a person must know."""
    changes = {card.aim: card.target, **card.stages}
    reasons = each_reason((name, change.difference.reason) for name, change in changes.items())
    unread = f"{counted(card.unscored, card.case)} left out for want of a verdict that could be read."
    return [
        f"Means in %, * tuned for; each {card.case} is tested by a program that never saw its {card.group}.",
        *reasons,
        *([unread] if card.unscored else []),
    ]


def _candidates(card: AgentCard) -> Table:
    rows = [
        [str(number), share(each.score), share(each.share, 0), "chosen" if each.chosen else ""]
        for number, each in enumerate(card.candidates, start=1)
    ]
    return table(("candidate", "score", "compared", ""), rows, fold=False)


def _notes(artefact: SeveralArtefact) -> list[str]:
    card = artefact.card
    made, low = card.provenance, card.target.low98
    roles = ", ".join(f"{role.replace('_', ' ')} {model.model}" for role, model in made.models.items())
    bound = "not known" if low is None else f"{100 * low:+.0f} points"
    return [
        "The program in this file was compiled on everything and has no score of its own. Claimed only where the 98 % "
        f"interval of the change lies above 0: its lower end is {bound}"
        f"{unread_text(card.target.low98_unread, signed)}. p of the further rows is adjusted by Holm.",
        "candidates: mean score in % by the tuning judge, where they were chosen, not tested; compared on % of the "
        f"{card.case}s. The first is the start.",
        f"{counted(card.cases, card.case)} of {card.scenarios} {card.groups}, {len(card.fold_scores)} folds. {roles}.",
        f"made {made.created} with {versions_text(made.versions)}; "
        f"corpus {made.data.sha256[:12]}; program {artefact.digest[:12]}.",
    ]
