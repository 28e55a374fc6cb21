"""A person works while somebody watches: at each event the watcher acts or stays silent.

What benchmarks of such streams share: an event, what is seen of a stream at a moment, the decision to act or to stay
silent as parts of a grade with the measures that are made of them, rules that decide without looking, and what their
declarations have in common.

Acting at every moment has recall 1, and an F1 above chance wherever acting is often right. That is why the measures
give balanced accuracy, kappa and the value at a cost beside precision and recall, and why the rules exist.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic import ConfigDict, Field

from dspy_proact.benchmarks.benchmark import Answer, Benchmark, Detail, Start
from dspy_proact.benchmarks.published import PublishedRow
from dspy_proact.errors import UsageError
from dspy_proact.runs import Measure, Settings
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    from dspy_proact.models import Embedder

T = TypeVar("T")
RuleName = Literal["none", "always", "never", "every-nth", "random"]


class StreamEvent(Frozen):
    """Something that was observed. Names and order of the fields are prompt text."""

    time: str
    """As the recording has it."""
    event: str


def seen_at(stream: Sequence[T], place: int, window: int) -> tuple[T, ...]:
    """What is seen at a place of a stream, counted from 0: the last `window` entries up to it, its own among them."""
    return tuple(stream[max(0, place + 1 - window) : place + 1])


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

        Args:
            cost: Of acting where that was not wanted, 0 or more: `value` is 1 where acting was right, minus the cost
                where it was wrong, and 0 for silence.
        """
        value = 0.0 if not self.acted else 1.0 if self.right else -cost
        parts = {"wanted": float(self.wanted), "acted": float(self.acted), "right": float(self.right), "value": value}
        return parts | ({"false_alarm": float(not self.right)} if self.acted else {})


def decision_measures(acted: str) -> tuple[Measure, ...]:
    """Measures of decisions: those that are usually published, then those that tell watchers apart.

    `false_alarm` is the share of acts that were wrong, as such benchmarks publish it: 1 - precision, and not the share
    of silent moments at which the watcher acted.

    Args:
        acted: Title of the share of moments at which the watcher acted.
    """
    both = ("wanted", "acted")
    return (
        Measure(name="recall", title="recall", statistic="recall", parts=both),
        Measure(name="precision", title="precision", statistic="precision", parts=both),
        Measure(name="accuracy", title="accuracy", parts=("right",)),
        Measure(name="false_alarm", title="false alarm", parts=("false_alarm",), higher_is_better=False),
        Measure(name="f1", title="F1", statistic="f1", parts=both),
        Measure(name="acted", title=acted, parts=("acted",), higher_is_better=False),
        Measure(name="balanced_accuracy", title="balanced accuracy", statistic="balanced_accuracy", parts=both),
        Measure(name="kappa", title="kappa", statistic="kappa", parts=both),
        Measure(name="value", title="value at a cost", parts=("value",)),
    )


def decision_values(decisions: Sequence[Decision], cost: float) -> dict[str, float | None]:
    """What decisions score, at least one, by the name of a measure; None where that is undefined."""
    import numpy as np

    from dspy_proact.stats.classification import classification

    counts, parts = np.zeros((1, 2, 2)), [each.parts(cost) for each in decisions]
    for each in decisions:
        counts[0, int(each.wanted), int(each.acted)] += 1
    values: dict[str, float | None] = {"accuracy": fmean(each["right"] for each in parts)}
    for name in ("precision", "recall", "f1", "balanced_accuracy", "kappa"):
        value = float(classification(counts, name)[0])
        values[name] = None if np.isnan(value) else value
    return values | {"value": fmean(each["value"] for each in parts)}


def burstiness(times: Sequence[float]) -> float | None:
    """B = (s - m) / (s + m) of gaps between times, with mean m and standard deviation s (Goh and Barabasi 2008).

    It is -1 for a regular beat, 0 for a Poisson process, towards 1 for bursts; None with fewer than two gaps, or where
    all are 0.
    """
    gaps = [later - earlier for earlier, later in pairwise(sorted(times))]
    if len(gaps) < 2 or not any(gaps):
        return None
    mean, deviation = fmean(gaps), pstdev(gaps)
    return (deviation - mean) / (deviation + mean)


class Rules(Frozen):
    """Settings of a baseline: a rule that decides without looking, in place of the program under test."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    baseline: RuleName = "none"
    """A rule in place of the program; it asks no model when to act."""
    nth: int = Field(default=3, ge=1, le=1000)
    """every-nth acts at every moment of a stream whose number is a multiple of this."""
    rate: float = Field(default=0.5, ge=0, le=1)
    """Share of moments at which random acts."""
    seed: int = Field(default=0, ge=0)
    """Seed of random."""

    def acts(self, key: str, number: int) -> bool:
        """Whether the rule acts at a moment.

        Args:
            key: Of the moment; random decides by it alone, so that the order of the moments makes no difference.
            number: Of the moment in its stream, counted from 1.
        """
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


class ByRule:
    """The program of a baseline, which asks no model."""

    def __init__(self, rules: Rules):
        self.rules, self.name = rules, rules.baseline

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of the rule and its settings."""
        return hashlib.sha256(self.rules.model_dump_json(include=set(Rules.model_fields)).encode()).hexdigest()


class RuledBenchmark(Benchmark[Answer, Detail]):
    """A benchmark whose settings are `Rules` too, and for whose baselines they stand in place of the program."""

    published_in: str
    """Where the published scores stand, for people."""

    @property
    def reports(self) -> Any:
        """Its module of reports, which is slow to import: `published_rows`, `differences` and `PARTICULARS`."""
        raise NotImplementedError(f"{self.name}: `reports` is not declared")

    def agent(self, settings: Settings, companions: "Sequence[Embedder]") -> Any:
        """The program under test where no rule stands in its place."""
        raise NotImplementedError(f"{self.name}: `agent` is not declared")

    def program(self, settings: Settings, start: Start, companions: "Sequence[Embedder]" = ()) -> Any:
        """The agent, or a rule."""
        if start.prompt is not None:
            raise UsageError("--system-prompt: the agent has an instruction of its own; leave it out")
        rules = _rules(settings)
        return self.agent(settings, companions) if rules.baseline == "none" else ByRule(rules)

    def unasked(self, settings: Settings) -> str | None:
        """What stands for the model of a baseline, which asks none."""
        return None if _rules(settings).baseline == "none" else "rule"

    def require(self, settings: Settings, models: Iterable[str], start: Start) -> None:
        """Raise a `UsageError` where a baseline is given a model or a program."""
        rule, (model, *_) = _rules(settings).baseline, models
        if rule != "none" and (start.file or model != "embedded"):
            raise UsageError(f"--set baseline={rule}: a baseline asks no model; leave --model and --program out")

    @property
    def best(self) -> str:
        """The best published accuracy, and whose it is."""
        first = self.published()[0]
        return f"{100 * (first.scores['score'] or 0.0):.1f} % accuracy: {first.name} ({self.published_in})"

    def published(self) -> Sequence[PublishedRow]:
        """As the module of reports reads them."""
        return self.reports.published_rows()

    def differences(self, run: Any) -> Sequence[str]:
        """As the module of reports finds them."""
        return tuple(self.reports.differences(run))

    def particulars(self) -> Any:
        """Those of the module of reports."""
        return self.reports.PARTICULARS


def _rules(settings: Settings) -> Rules:
    assert isinstance(settings, Rules), "the settings of such a benchmark are rules too"
    return settings
