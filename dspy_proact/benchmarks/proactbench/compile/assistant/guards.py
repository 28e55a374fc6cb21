"""Guards: what a compile must not pay with, against its start, on the training folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examiner, mean_of
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.errors import UsageError

Guard = Literal["offers", "length", "tokens", "phases"]
GUARDS: tuple[Guard, ...] = get_args(Guard)
MARGINS: Mapping[Guard, float] = {"offers": 0.05, "length": 0.20, "tokens": 0.50, "phases": 0.05}
"""By how much, against the start, the rate of unwanted offers may grow, and the other phases' mean score fall; and by
which part of what they were the words of a response may grow, and its tokens, the prompt's included."""


@dataclass(frozen=True)
class Measured:
    """An assistant on the probes of a training set."""

    offers: float | None
    """Share of control turns with an unwanted offer, of those that could be read; None without any."""
    words: float | None
    """Mean words of a response to a trigger of the chosen phases."""
    tokens: float | None
    """Mean tokens of prompt and response there; None where none were counted."""
    others: float | None
    """Mean score of the other phases."""


@dataclass(frozen=True)
class Guards:
    """The guards of one training set.

    Args:
        margins: Of the guards that are asked for.
        examiner: With the tuning judge.
        probes: The training set.
        phases: The chosen ones.
    """

    margins: Mapping[Guard, float]
    examiner: Examiner
    probes: Sequence[Probe]
    phases: Sequence[Phase]

    def broken(self, start: Measured, candidate: Measured) -> tuple[Guard, ...]:
        """The guards that a candidate does not keep against the start; what cannot be measured is kept."""
        grown = {
            "offers": _difference(start.offers, candidate.offers),
            "length": _growth(start.words, candidate.words),
            "tokens": _growth(start.tokens, candidate.tokens),
            "phases": _difference(candidate.others, start.others),
        }
        return tuple(
            guard
            for guard, margin in self.margins.items()
            if (by := grown[guard]) is not None and by > margin + _ROUNDING
        )

    def measured(self, assistant: Assistant) -> Measured:
        """What the guards that are asked for look at."""
        controls = controls_among(self.probes) if "offers" in self.margins else []
        chosen = of_phases(self.probes, self.phases) if {"length", "tokens"} & self.margins.keys() else []
        rest = [phase for phase in Phase if phase not in self.phases]
        others = of_phases(self.probes, rest) if "phases" in self.margins else []
        examined = self.examiner.examine_all(assistant, [*controls, *chosen, *others])
        return Measured(
            offers=mean_of(lambda found: found.pushed, examined, controls),
            words=mean_of(lambda found: found.words, examined, chosen),
            tokens=mean_of(lambda found: found.tokens, examined, chosen),
            others=mean_of(lambda found: found.score, examined, others),
        )


def require_measurable(margins: Mapping[Guard, float], probes: Sequence[Probe], phases: Sequence[Phase]) -> None:
    """Raise a `UsageError` where a guard would have nothing to look at."""
    if "offers" in margins and not controls_among(probes):
        raise UsageError("--guard offers: the corpus has no control turns; leave it out, or bring a corpus that has")
    if "phases" in margins and not of_phases(probes, [phase for phase in Phase if phase not in phases]):
        raise UsageError("--guard phases: the corpus has no triggers of other phases; leave it out")


_ROUNDING = 1e-9


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _growth(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before - 1
