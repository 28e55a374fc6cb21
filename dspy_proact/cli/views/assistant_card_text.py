"""The card of a compiled assistant, as a person reads it."""

from collections.abc import Iterator
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus import CONTROL_RULE
from dspy_proact.benchmarks.proactbench.programs import AssistantCard, CandidateCard
from dspy_proact.cli.views.card_text import print_card, recipe_text, unread_text, versions_text
from dspy_proact.kept import write_whole
from dspy_proact.programs.artefact import AssistantArtefact
from dspy_proact.programs.card import Change
from dspy_proact.report import (
    STAND_IN,
    ScatterPoint,
    Table,
    coefficient,
    counted,
    each_reason,
    percent,
    probability,
    scatter_svg,
    share,
    signed,
    table,
)
from dspy_proact.stats import Estimate


def print_assistant_card(artefact: AssistantArtefact, explain: bool) -> None:
    """Print what a compile bought and what it cost, out of fold; to explain it, also with what it was made."""
    card, made = artefact.card, artefact.card.provenance
    heading = f"assistant {made.models['assistant'].model} tuned on {made.data.name}: {recipe_text(made.recipe)}"
    warnings = (f"warning: {warning}." for warning in card.warnings)
    front = [_front(card)] if _has_front(card) else []
    rests_on = [*front, *_notes(artefact)] if explain else []
    print_card(card, heading, *warnings, _changes(card), *_said(card), *rests_on)


def pareto_front(card: AssistantCard) -> list[CandidateCard]:
    """Candidates that no other one beats in one direction without losing in the other; by falling score."""
    front: list[CandidateCard] = []
    for each in sorted(_looked_at(card).values(), key=lambda each: (-each.score, each.offers or 0.0)):
        if not front or (each.offers or 0.0) < (front[-1].offers or 0.0):
            front.append(each)
    return front


def front_svg(card: AssistantCard) -> str:
    """Score against unwanted offers, as SVG: the candidates that were looked at, those of the front marked."""
    front = {(each.score, each.offers) for each in pareto_front(card)}
    places: dict[tuple[float, float], dict[int, CandidateCard]] = {}
    for number, each in _looked_at(card).items():
        places.setdefault((each.score, each.offers or 0.0), {})[number] = each
    points = [
        ScatterPoint(_called(alike), _share(offers), _share(score), marked=(score, offers) in front)
        for (score, offers), alike in places.items()
    ]
    notes = [
        *([f"{STAND_IN}."] if card.provenance.embedded else []),
        "By the tuning judge on the turns where they were chosen, not tested; no intervals are known.",
        "Filled: no other one is better in one direction and as good in the other.",
    ]
    return scatter_svg(
        points,
        title="Candidates of the last compile",
        x="control turns with an unwanted offer",
        y=f"mean score, {', '.join(card.chosen)}",
        note=" ".join(notes),
    )


def draw_front(artefact: Path, card: AssistantCard) -> Path | None:
    """Write the candidates' picture beside an artefact; where it is, or None where offers were not looked at.

    Raises:
        UsageError: It cannot be written.
    """
    path = artefact.with_name("front.svg")
    if not _has_front(card):
        return None
    write_whole(path, front_svg(card))
    return path


def _looked_at(card: AssistantCard) -> dict[int, CandidateCard]:
    """The candidates whose unwanted offers are known, by their numbers in the order of trying; 1 is the start."""
    numbered = enumerate(card.candidates, start=1)
    return {number: each for number, each in numbered if each.offers is not None and each.share == 1}


def _has_front(card: AssistantCard) -> bool:
    """Whether more than the start was looked at."""
    return any(number > 1 for number in _looked_at(card))


def _share(value: float) -> Estimate:
    return Estimate(value, reason="no interval is known of a candidate")


def _called(alike: dict[int, CandidateCard]) -> str:
    """What the candidates at one place are called, by their numbers in the order of trying; 1 is the start."""
    named: list[str] = []
    for number, each in alike.items():
        titles = [*(["start"] if number == 1 else []), *(["chosen"] if each.chosen else [])]
        named += [", ".join(titles)] if titles else []
    named = named or [f"candidate {min(alike)}"]
    more = len(alike) - len(named)
    guards = sorted({guard for each in alike.values() for guard in each.broken})
    chosen = any(each.chosen for each in alike.values())
    told = ", ".join(named) + (f" and {more} alike" if more else "")
    return told if chosen or not guards else f"{told} (breaks {', '.join(guards)})"


def _changes(card: AssistantCard) -> Table:
    length = card.length
    times = "-" if length.difference.value is None else f"x {coefficient(length.difference.estimate)}"
    means = ("-" if each.value is None else f"{each.value:.0f}" for each in (length.before, length.after))
    rows = [
        *([name, *_shares(change)] for name, change in _scored(card).items()),
        ["unwanted offers", *_shares(card.offers)],
        ["words", _counted(length), *means, times, ""],
    ]
    return table(("out of fold", "n", "before", "after", "change", "p"), rows, fold=False)


def _scored(card: AssistantCard) -> dict[str, Change]:
    """The changes of scores: of the phases that it is tuned for together, where they are several, and of each."""
    together = {"tuned for": card.target} if len(card.chosen) > 1 else {}
    return together | {f"{phase}{'*' if phase in card.chosen else ''}": each for phase, each in card.phases.items()}


def _shares(change: Change) -> list[str]:
    before, after = percent(change.before.estimate), percent(change.after.estimate)
    return [_counted(change), before, after, change.difference.points, probability(change.p)]


def _counted(change: Change) -> str:
    """Turns that could be graded, of those asked where some could not."""
    return str(change.count) if change.count == change.total else f"{change.count}/{change.total}"


def _rounded(share: float) -> str:
    """A share in percent, never rounded to none."""
    return "under 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def _front(card: AssistantCard) -> Table:
    rows: list[list[str]] = []
    for each in pareto_front(card):
        what = ", ".join([*(["chosen"] if each.chosen else []), *(f"breaks {guard}" for guard in each.broken)])
        rows.append([f"{share(each.score, 0)} %", f"{share(each.offers or 0, 0)} %", what])
    return table(("candidates: score", "unwanted offers", ""), rows, fold=False, names=2)


def _said(card: AssistantCard) -> Iterator[str]:
    """What a person must know."""
    yield "Mean score in %, * tuned for; each response is by a program that never saw its persona or scenario."
    besides = {"unwanted offers": card.offers} if card.controls else {}
    rows = {**_scored(card), **besides, "words": card.length}
    yield from each_reason((name, change.difference.reason) for name, change in rows.items())
    if not card.controls:
        yield f"unwanted offers: {card.offers.before.reason}, so that nothing is said of them."
    if card.unscored:
        yield f"{counted(card.unscored, 'turn')} left out for want of a verdict that could be read."


def _notes(artefact: AssistantArtefact) -> list[str]:
    card = artefact.card
    low = "-" if card.target.low98 is None else f"{100 * card.target.low98:+.0f}"
    guards = ", ".join(f"{guard} {margin:g}" for guard, margin in card.guards.items())
    made = card.provenance
    notes = [
        "Mean score: PASS 1, PARTIAL .5, FAIL 0. The program in this file was compiled on everything and has no score "
        f"of its own. Claimed only where the 98 % interval lies above 0: its lower end is {low} points"
        f"{unread_text(card.target.low98_unread, signed)}.",
        *([f"{CONTROL_RULE}."] if card.controls else []),
        f"guards, against the start on the training folds: {guards or 'none'}. p of phases is adjusted by Holm.",
        f"{card.triggers} triggers and {card.controls} control turns in {card.scenarios} scenarios, "
        f"{len(card.fold_scores)} folds. Tuned by {made.models['judge'].model}, reported by "
        f"{made.models['report_judge'].model}, prompts by {made.models['proposer'].model}.",
    ]
    if _has_front(card):
        notes.append("candidates: none beats another in both; by the tuning judge, where they were chosen, not tested.")
    return [
        *notes,
        f"{len(artefact.state.demos)} demos; of the instruction's runs of eight words "
        f"{_rounded(card.rubric_overlap)} stand in a rubric, {_rounded(card.conversation_overlap)} in a conversation; "
        f"{card.withheld[0]} of {card.withheld[1]} sentences of the tuning judge were kept back, for they "
        "have words that only the rubric may have had.",
        f"made {made.created} with {versions_text(made.versions)}; "
        f"corpus {made.data.sha256[:12]}; program {artefact.digest[:12]}.",
    ]
