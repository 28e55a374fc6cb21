"""What happened at control cases, where nothing was to be gained: how often the worst label was given."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dspy_proact.report.words import worded
from dspy_proact.runs import Manifest, Nouns, Outcome, Outcomes
from dspy_proact.stats import Estimate, cluster_mean


@dataclass(frozen=True)
class Controls(Outcomes):
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
        worst, groups = [float(o.label == self.worst) for o in self.scored], [o.group for o in self.scored]
        return worded(cluster_mean(worst, groups), self.nouns)
