"""What benchmarks share in which an agent watches a person work, and at each event acts or stays silent.

Acting at every moment has recall 1, and an F1 above chance wherever acting is often right. That is why the measures
give balanced accuracy, kappa and the value at a cost beside precision and recall, and why the rules exist.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import Field

from dspy_proact.evaluation.ruled import Baseline
from dspy_proact.runs import Measure

RuleName = Literal["none", "always", "never", "every-nth", "random"]


@dataclass(frozen=True)
class Decision:
    """Whether the watcher acted, and whether acting was wanted."""

    acted: bool
    wanted: bool

    @classmethod
    def judged(cls, acted: bool, right: bool) -> Self:
        """From whether what was done, to act or to stay silent, was right."""
        return cls(acted, wanted=acted == right)

    @property
    def right(self) -> bool:
        """Whether the watcher acted where that was wanted, or stayed silent where it was not."""
        return self.acted == self.wanted

    def parts(self, cost: float) -> dict[str, float]:
        """The numbers that `decision_measures` are made of; `false_alarm`, 1 where acting was wrong, if it acted.

        `value` is 1 where acting was right, minus the `cost`, 0 or more, where it was wrong, and 0 for silence.
        """
        value = 0.0 if not self.acted else 1.0 if self.right else -cost
        parts = {"wanted": float(self.wanted), "acted": float(self.acted), "right": float(self.right), "value": value}
        return parts | ({"false_alarm": float(not self.right)} if self.acted else {})


def decision_measures(acted: str) -> tuple[Measure, ...]:
    """Measures of decisions, the usually published ones first; `acted` titles the share of moments of acts.

    `false_alarm` is the share of acts that were wrong, as such benchmarks publish it: 1 - precision, and not the share
    of silent moments at which the watcher acted. What a rule fixes, such as that `never` is worth 0, has no interval.
    """
    both, fixed = ("wanted", "acted"), ("always", "never")
    return (
        Measure(name="recall", title="recall", statistic="recall", parts=both, rules=fixed),
        Measure(name="precision", title="precision", statistic="precision", parts=both),
        Measure(name="accuracy", title="accuracy", parts=("right",), least=0, most=1),
        Measure(
            name="false_alarm", title="false alarm", parts=("false_alarm",), least=0, most=1, higher_is_better=False
        ),
        Measure(name="f1", title="F1", statistic="f1", parts=both),
        Measure(name="acted", title=acted, parts=("acted",), least=0, most=1, rules=fixed, higher_is_better=False),
        Measure(name="balanced_accuracy", title="balanced accuracy", statistic="balanced_accuracy", parts=both),
        Measure(name="kappa", title="kappa", statistic="kappa", parts=both),
        Measure(name="value", title="value at a cost", parts=("value",), most=1, cost="cost", rules=("never",)),
    )


class Rules(Baseline):
    """Settings of a baseline: a rule that decides without looking, in place of the program under test."""

    of_rule: ClassVar[frozenset[str]] = frozenset({"baseline", "nth", "rate", "seed"})
    baseline: RuleName = "none"  # pyright: ignore[reportIncompatibleVariableOverride] - frozen
    """A rule in place of the program; it asks no model when to act."""
    nth: int = Field(default=3, ge=1, le=1000)
    """every-nth acts at every moment of a stream whose number is a multiple of this."""
    rate: float = Field(default=0.5, ge=0, le=1)
    """Share of moments at which random acts."""
    seed: int = Field(default=0, ge=0)
    """Seed of random."""

    def acts(self, key: str, number: int) -> bool:
        """Whether the rule acts at the moment of a number, counted from 1; random goes by the key alone."""
        if self.baseline == "every-nth":
            return number % self.nth == 0
        if self.baseline == "random":
            digest = hashlib.sha256(f"{self.seed}/{key}".encode()).digest()
            return int.from_bytes(digest[:8], "big") / 2**64 < self.rate
        return self.baseline == "always"

    @property
    def rules_without_effect(self) -> Mapping[str, str]:
        """Those of these settings that have no effect, each with the setting that makes it so."""
        used = {"every-nth": {"nth"}, "random": {"rate", "seed"}}.get(self.baseline, set[str]())
        return dict.fromkeys(sorted({"nth", "rate", "seed"} - used), f"baseline={self.baseline}")
