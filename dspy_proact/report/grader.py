"""One judge of a run: what it said, and what it failed to say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dspy_proact.calls import Usage
from dspy_proact.report.words import worded
from dspy_proact.runs import Evidence, Nouns, Outcome
from dspy_proact.stats import Estimate, cluster_mean


@dataclass(frozen=True)
class Grader:
    """What one judge of a run said."""

    name: str
    verdicts: int
    """Verdicts that were read."""
    unread: Mapping[str, int]
    """Verdicts that were tried and are not there, by reason."""
    weighted: Estimate
    """Mean score of its verdicts, each response counted once."""
    evidence: Evidence
    """How well they quote."""
    usage: Usage | None
    """What its calls took; None where it is not known."""

    @classmethod
    def of(
        cls, name: str, outcomes: Sequence[Outcome], labels: Sequence[str], nouns: Nouns, usage: Usage | None
    ) -> "Grader":
        """That of a name, among the outcomes of a run; labels from best to worst."""
        own = [each for outcome in outcomes if (each := outcome.by(name, labels)).label]
        verdicts = [verdict for each in own for verdict in each.verdicts]
        unread = Counter(reason for outcome in outcomes for judge, reason in outcome.unread if judge == name)
        weighted = worded(cluster_mean([each.score for each in own], [each.group for each in own]), nouns)
        return cls(name, len(verdicts), dict(unread), weighted, Evidence.of(verdicts), usage)
