"""What declarations of benchmarks with baselines share: rules that replace the program under test and call no model.

Published rows and reports are in a module beside each declaration, which is imported when it is needed.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import ConfigDict

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Answer, Benchmark, Detail, StandIn, Start
from dspy_proact.evaluation.published import PublishedRow
from dspy_proact.runs import CaseSet, Measure, Settings
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    from dspy_proact.evaluation.reporting import Reporting
    from dspy_proact.models import Embedder


class Baseline(Frozen):
    """Settings of a rule in place of the program under test."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    of_rule: ClassVar[frozenset[str]] = frozenset({"baseline", "seed"})
    """Settings that decide what a rule does."""
    baseline: str = "none"
    """The rule; none for the program."""


def means_of(
    names: Iterable[str], titles: Mapping[str, str], costs: Collection[str], counts: Collection[str]
) -> tuple[Measure, ...]:
    """Measures that are means of the parts of their names: shares in [0, 1], but for counts.

    Args:
        names: Of the measures, in the order of reports.
        titles: By name, where the title is another.
        costs: Names of those of which less is better.
        counts: Names of those that begin at 0 and have no end.
    """
    return tuple(
        Measure(
            name=name,
            title=titles.get(name, name.replace("_", " ")),
            parts=(name,),
            least=0,
            most=None if name in counts else 1,
            higher_is_better=name not in costs,
        )
        for name in names
    )


T = TypeVar("T")


def drawn(key: str, among: Sequence[T]) -> T:
    """One of them, which the key decides."""
    return among[int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % len(among)]


class ByRule:
    """The program of a baseline, which asks no model."""

    def __init__(self, rules: Baseline):
        self.rules, self.name = rules, rules.baseline

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of the rule and its settings."""
        return hashlib.sha256(self.rules.model_dump_json(include=set(self.rules.of_rule)).encode()).hexdigest()


class RuledBenchmark(Benchmark[Answer, Detail]):
    """A benchmark whose settings are a `Baseline` too."""

    published_in: str
    """Where the published scores stand, for people."""
    published_as: str = "accuracy"
    """What the score is called there that ranks them."""

    def module(self, name: str) -> Any:
        """A module beside the declaration, imported when it is needed."""
        return import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")

    @property
    def reports(self) -> Any:
        """Its module of reports: `published_rows`, `differences` and `PARTICULARS`."""
        return self.module("report")

    def strata_of(self, case_set: CaseSet) -> Sequence[str]:
        """Those that there are."""
        there = {case.stratum for case in case_set.cases}
        return [stratum for stratum in self.strata if stratum in there]

    def agent(self, settings: Settings, companions: "Sequence[Embedder]") -> Any:
        """The program under test where no rule stands in its place."""
        raise NotImplementedError(f"{self.name}: `agent` is not declared")

    def program(self, settings: Settings, start: Start, companions: "Sequence[Embedder]" = ()) -> Any:  # noqa: ARG002
        """The agent, or a rule."""
        rule = _rule(settings)
        return self.agent(settings, companions) if rule.baseline == "none" else ByRule(rule)

    def stand_in(self, role: str) -> StandIn | None:
        """Its rules in a role, from the module of stand-ins; None where it has none."""
        return getattr(self.module("stand_in"), {"assistant": "agent_answer", "judge": "judge_answer"}[role], None)

    def tuning(self, settings: Settings) -> Any:
        """As its own module of tuning says."""
        return self.module("tuning").OwnTuning(self, settings)

    def unasked(self, settings: Settings) -> str | None:
        """What stands for the model of a baseline, which asks none."""
        return None if _rule(settings).baseline == "none" else "rule"

    def require(self, settings: Settings, models: Iterable[str], start: Start) -> None:
        """Raise a `UsageError` where a baseline is given a model, a program, or a judge that grades nothing of it."""
        rule, (model, *judges) = _rule(settings).baseline, models
        given = [name for name in (model, *([] if self.judged(settings) else judges)) if name != "embedded"]
        if rule != "none" and (start.file or given):
            given = "`model` and `program`" if self.judged(settings) else "`model`, `judge` and `program`"
            raise UsageError(f"`settings.baseline={rule}`: a baseline asks no model; leave {given} out")

    @property
    def best(self) -> str:
        """The best published headline, and whose it is."""
        (first, *others), name = self.published(), self.leaderboard_headline
        equal = (row.name for row in others if (row.kind, row.scores[name]) == (first.kind, first.scores[name]))
        value = 100 * (first.scores[name] or 0.0)
        return f"{value:.1f} % {self.published_as}: {' and '.join((first.name, *equal))} ({self.published_in})"

    def published(self) -> Sequence[PublishedRow]:
        """As the module of reports reads them."""
        return self.reports.published_rows()

    def differences(self, run: Any) -> Sequence[str]:
        """As the module of reports finds them, and several answers to a case."""
        epochs, found = run.manifest.epochs, tuple(self.reports.differences(run))
        return found if epochs == 1 else (*found, f"{epochs} answers to each {self.nouns.case}")

    @property
    def reporting(self) -> "Reporting":
        """That of the module of reports."""
        return self.reports.REPORTING


def _rule(settings: Settings) -> Baseline:
    assert isinstance(settings, Baseline), "the settings of such a benchmark name a rule too"
    return settings
