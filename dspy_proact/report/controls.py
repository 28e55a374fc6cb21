"""What happened at control cases, where nothing was to be gained: how often the worst label was given."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.report.outcome import Evidence, GivenVerdict, Outcome, State
from dspy_proact.report.words import worded
from dspy_proact.runs import Manifest, Nouns
from dspy_proact.stats import Estimate, cluster_mean


@dataclass(frozen=True)
class Controls:
    """The control cases of a run."""

    outcomes: tuple[Outcome, ...] = ()
    """One a control case and epoch; empty where there are none."""
    reason: str | None = "none are recorded"
    """Why there are none."""
    asked: bool = True
    """Whether they were asked for, as far as is known."""
    worst: str = ""
    """The worst label."""
    nouns: Nouns = field(default_factory=Nouns)

    @classmethod
    def of(cls, manifest: Manifest, outcomes: Sequence[Outcome]) -> "Controls":
        """Those of a run."""
        nouns = manifest.nouns
        if outcomes:
            return cls(tuple(outcomes), None, True, manifest.control_labels[-1], nouns)
        if manifest.controls:
            return cls(reason=f"the corpus has no {nouns.controls}", nouns=nouns)
        return cls(reason=f"{nouns.controls} were not asked for; --controls asks at them", asked=False, nouns=nouns)

    @property
    def rate(self) -> Estimate:
        """Share of the scored control cases with the worst label; lower is better."""
        if self.reason:
            return Estimate(None, reason=self.reason)
        scored = [outcome for outcome in self.outcomes if outcome.state == "scored"]
        rate = cluster_mean([float(o.label == self.worst) for o in scored], [o.group for o in scored])
        return worded(rate, self.nouns)

    @property
    def awaited(self) -> int:
        """Further verdicts that were asked for and not tried yet."""
        return sum(outcome.awaited for outcome in self.outcomes)

    @property
    def verdicts(self) -> list[GivenVerdict]:
        """Every verdict that was read."""
        return [verdict for outcome in self.outcomes for verdict in outcome.verdicts]

    @property
    def evidence(self) -> Evidence:
        """Verdicts that quote, and those of them whose every quote stands in the response."""
        return Evidence.of(self.verdicts)

    def count(self, state: State) -> int:
        """Outcomes in a state."""
        return sum(outcome.state == state for outcome in self.outcomes)

    def counts(self) -> dict[str, Any]:
        """Counts by state, and the reasons of what is unscored, as JSON."""
        reasons = Counter(outcome.reason for outcome in self.outcomes if outcome.reason)
        states: tuple[State, ...] = ("scored", "unscored", "pending")
        return {
            "total": len(self.outcomes),
            **{state: self.count(state) for state in states},
            "unscored_reasons": dict(reasons.most_common()),
        }
