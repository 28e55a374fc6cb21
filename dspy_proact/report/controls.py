"""What happened at control turns: how often something was offered that nobody asked for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.corpus import CONTROL_RULE
from dspy_proact.report.outcome import Evidence, Outcome
from dspy_proact.runs import Manifest
from dspy_proact.stats import Estimate, cluster_mean
from dspy_proact.types import Offers

NOT_ASKED = "control turns were not asked for; --controls asks at them"
NONE_THERE = "the corpus has no control turns"
_NOT_RECORDED = "a results file holds no control turns"


@dataclass(frozen=True)
class Controls:
    """The control turns of a run."""

    outcomes: tuple[Outcome, ...]
    """One a control turn and epoch; empty where there are none."""
    reason: str | None
    """Why there are none."""
    worst: str = ""
    """The label of an unwanted offer."""

    @classmethod
    def of(cls, manifest: Manifest | None, outcomes: Sequence[Outcome]) -> "Controls":
        """Those of a run, or of a results file, which has no manifest."""
        if outcomes and manifest:
            return cls(tuple(outcomes), None, manifest.control_labels[-1])
        reason = _NOT_RECORDED if manifest is None else NONE_THERE if manifest.controls else NOT_ASKED
        return cls((), reason)

    @property
    def unwanted_offers(self) -> Estimate:
        """Share of the scored control turns at which something was offered that nobody asked for; lower is better."""
        scored = [outcome for outcome in self.outcomes if outcome.state == "scored"]
        if self.reason:
            return Estimate(None, reason=self.reason)
        return cluster_mean([float(o.label == self.worst) for o in scored], [o.group for o in scored])

    @property
    def awaited(self) -> int:
        """Further verdicts that were asked for and not tried yet."""
        return sum(outcome.awaited for outcome in self.outcomes)

    @property
    def evidence(self) -> Evidence:
        """Verdicts that name an offer, and those of them whose every quote stands in the response."""
        return Evidence.of(verdict for outcome in self.outcomes for verdict in outcome.verdicts)

    @property
    def grounded(self) -> tuple[int, int]:
        """Unwanted offers that hang on a detail of the conversation, and all of them, over all verdicts."""
        verdicts = [verdict for outcome in self.outcomes for verdict in outcome.verdicts]
        told = [offer for verdict in verdicts for offer in Offers.model_validate(verdict.detail).unwanted]
        return sum(offer.grounded for offer in told), len(told)

    def count(self, state: str) -> int:
        """Outcomes in a state."""
        return sum(outcome.state == state for outcome in self.outcomes)

    def for_json(self) -> dict[str, Any] | None:
        """The document; None where there are none, for `reason`."""
        if self.reason:
            return None
        reasons = Counter(outcome.reason for outcome in self.outcomes if outcome.reason)
        return {
            "total": len(self.outcomes),
            **{state: self.count(state) for state in ("scored", "unscored", "pending")},
            "unscored_reasons": dict(reasons.most_common()),
            "unwanted_offers": self.unwanted_offers.for_json(),
            "offers": {"unwanted": self.grounded[1], "grounded": self.grounded[0]},
            "evidence": {"checked": self.evidence.checked, "verified": self.evidence.verified},
            "rule": CONTROL_RULE,
        }
