"""What a compile of the assistant cost: beyond the usual margins, within them, or too unsure to tell."""

from collections.abc import Iterator
from dataclasses import dataclass

from dspy_proact.benchmarks.proactbench.compile.assistant.guards import MARGINS
from dspy_proact.benchmarks.proactbench.programs import AssistantCard
from dspy_proact.programs import CardNumber, tokens_ratio
from dspy_proact.programs.card import Change
from dspy_proact.stats import Estimate


@dataclass(frozen=True)
class Costs:
    """Measures beside the one that it was tuned for, against the usual margins of their guards."""

    beyond: tuple[str, ...]
    """What rose or fell by more than its margin, with its interval where it has one."""
    untold: tuple[str, ...]
    """Of the others, those whose interval reaches beyond the margin, the unread at their worst, or that have none."""
    alike: bool
    """Whether each that is known is exactly what it was."""

    @classmethod
    def of(cls, card: AssistantCard) -> "Costs":
        """Those that a card tells; unwanted offers only where they were looked at."""
        measures = list(_measures(card))
        beyond = tuple(each.told for each in measures if each.rise is not None and each.rise > each.margin)
        untold = tuple(each.name for each in measures if (each.rise or 0) <= each.margin and not each.within)
        known = [each.rise for each in measures if each.rise is not None]
        return cls(beyond, untold, bool(known) and not any(known))

    @property
    def nothing(self) -> bool:
        """Whether it is shown that nothing was paid."""
        return not self.beyond and (self.alike or not self.untold)

    @property
    def doubt(self) -> str:
        """What could not be told, as a clause; empty where all could."""
        if self.alike or not self.untold:
            return ""
        names = " and ".join(filter(None, [", ".join(self.untold[:-1]), self.untold[-1]]))
        more = "more was paid" if self.beyond else "more than the usual margins was paid"
        return f"whether {more} could not be told of {names}"


@dataclass(frozen=True)
class _Measure:
    """One measure, turned so that more is worse."""

    name: str
    told: str
    """As it is said to have cost."""
    rise: float | None
    """By how much it rose, in its margin's unit; None where it is not known."""
    most: float | None
    """The upper end of the 95 % interval of that, the unread at their worst; None where there is none."""
    margin: float

    @property
    def within(self) -> bool:
        """Whether it is known to have kept its margin."""
        return self.most is not None and self.most <= self.margin


def _measures(card: AssistantCard) -> Iterator[_Measure]:
    if card.offers.count:
        offers, most = card.offers.difference, _outer(card.offers, card.offers.most).high
        told = f"unwanted offers {offers.points} points"
        yield _Measure("unwanted offers", told, offers.value, most, MARGINS["offers"])
    for phase, change in card.phases.items():
        if phase not in card.chosen and change.total:
            gain, least = change.difference, _outer(change, change.least).low
            told = f"{phase} {gain.points} points"
            yield _Measure(phase, told, _less(gain.value), _less(least), MARGINS["phases"])
    length = card.length.difference.estimate
    told = f"responses {_times(length)} as long"
    yield _Measure("length", told, _growth(length.value), _growth(length.high), MARGINS["length"])
    ratio = tokens_ratio(card.usage_before, card.usage_after)
    high = card.tokens.difference.high if card.tokens else None
    told = "" if ratio is None else f"{ratio:.1f} times the tokens"
    yield _Measure("tokens", told, _growth(ratio), _growth(high), MARGINS["tokens"])


def _outer(change: Change, at_worst: CardNumber | None) -> CardNumber:
    """The difference with the unread at their worst; as it was read where nothing is unread."""
    return at_worst or change.difference


def _less(value: float | None) -> float | None:
    return None if value is None else -value


def _growth(ratio: float | None) -> float | None:
    return None if ratio is None else ratio - 1


def _times(ratio: Estimate) -> str:
    if ratio.value is None:
        return "unknown"
    bounds = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.value:.2f}{bounds} times"
