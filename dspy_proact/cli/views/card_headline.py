"""What a compile shows: one plain sentence that claims no more than the card carries."""

from dspy_proact.benchmarks.proactbench.compile.assistant.costs import Costs
from dspy_proact.benchmarks.proactbench.programs import AssistantCard, JudgeCard
from dspy_proact.programs import AgentCard
from dspy_proact.programs.card import Change
from dspy_proact.report import MEASURES_NOTHING, bounds, counted, listed, signed
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS, ENOUGH_RATERS, smallest_gain


def card_headline(card: JudgeCard | AssistantCard | AgentCard) -> str:
    """Whether it rose by more than chance, and of an assistant at what price; where not, which rise would have shown.

    It is agreement with people of a judge, and the mean score in the chosen phases of an assistant.
    """
    if isinstance(card, AgentCard):
        told = _agent(card)
    else:
        told = _judge(card) if isinstance(card, JudgeCard) else f"{_assistant(card)}{_cost(card)}"
    return f"{MEASURES_NOTHING if card.provenance.embedded else ''}{told}."


def _judge(card: JudgeCard) -> str:
    gain, labels = card.overall, counted(card.overall.labels, "rated item")
    change = gain.difference.estimate
    told = "" if change.value is None else f" ({change.value:+.2f} in kappa, {bounds(change, lambda v: f'{v:+.2f}')})"
    if card.shown:
        few = card.raters < ENOUGH_RATERS
        these = "this rater" if card.raters == 1 else f"these {card.raters} raters"
        begin, whom = (f"Improvement shown with {these}", these) if few else ("Improvement shown", "people")
        return f"{begin}: the judge agrees better with {whom}{told}, on {labels} that it had not seen"
    if gain.labels < CLAIM_LABELS or card.scenarios < CLAIM_GROUPS:
        few = f"{labels} in {counted(card.scenarios, 'scenario')} are too few for a claim"
        return f"No improvement could have been shown: {few}, which takes {CLAIM_LABELS} in {CLAIM_GROUPS}"
    if change.value is None:
        return f"No improvement could have been shown in agreement with people: {change.reason}"
    if _unread(gain.low98, gain.low98_unread):
        return f"No improvement shown{told}: not with the {card.unread} unread at their worst"
    least = smallest_gain(gain.labels, card.scenarios, card.raters)
    could = f": {labels} let one of {least:.2f} be seen in at least four compiles of five" if least else ""
    return f"No improvement shown{told}{could}"


def _unread(low98: float | None, low98_unread: float | None) -> bool:
    """Whether what was not read forbids what was read to be claimed."""
    return (low98 or 0) > 0 and low98_unread is not None and low98_unread <= 0


def _of_unread(target: Change) -> str:
    """That they do, and how many they are; empty where they do not."""
    if not _unread(target.low98, target.low98_unread):
        return ""
    return f": not with the {target.total - target.count} unread at their worst"


def _assistant(card: AssistantCard) -> str:
    target, names = card.target, listed(card.chosen)
    change, triggers = target.difference.estimate, counted(target.count, "trigger")
    told = "" if change.value is None else f" ({signed(change.value)} points, {bounds(change, signed)})"
    if card.shown:
        return f"Improvement shown in {names}{told}, on {triggers} that it had not seen"
    if change.value is None:
        return f"No improvement could have been shown in {names}: nothing could be graded"
    if unread := _of_unread(target):
        return f"No improvement shown in {names}{told}{unread}"
    scenarios = card.scenarios < CLAIM_GROUPS or (target.low98 or 0) > 0
    if target.count < CLAIM_LABELS or scenarios:
        few = triggers if target.count < CLAIM_LABELS else "their scenarios"
        claim = f"a claim, which takes {CLAIM_LABELS} in {CLAIM_GROUPS} scenarios"
        return f"No improvement could have been shown in {names}: {few} are too few for {claim}"
    if target.low98 is None:
        return f"No improvement shown in {names}{told}"
    least = 100 * (change.value - target.low98)
    return f"No improvement shown in {names}{told}: on {triggers} it takes a measured gain of {least:.0f} points"


def _agent(card: AgentCard) -> str:
    change, cases = card.target.difference.estimate, counted(card.target.count, card.case)
    told = "" if change.value is None else f" ({signed(change.value)} points, {bounds(change, signed)})"
    if card.shown:
        return f"Improvement shown in {card.aim}{told}, on {cases} that it had not seen"
    if card.target.count < CLAIM_LABELS or card.scenarios < CLAIM_GROUPS:
        few = f"{cases} of {card.scenarios} {card.groups} are too few for a claim"
        return (
            f"No improvement could have been shown: {few}, which takes {CLAIM_LABELS} of {CLAIM_GROUPS} {card.groups}"
        )
    return f"No improvement shown in {card.aim}{told}{_of_unread(card.target)}"


def _cost(card: AssistantCard) -> str:
    if not card.target.count:
        return ""
    costs, known = Costs.of(card), card.offers.count > 0
    paid = f"beside it, beyond the usual margins: {listed(costs.beyond)}" if costs.beyond else ""
    if known and costs.nothing:
        paid = "nothing beside it beyond the usual margins"
    told = "".join(f"; {clause}" for clause in (paid, costs.doubt) if clause)
    return told if known else f"{told}; what it did to unwanted offers is not known"
