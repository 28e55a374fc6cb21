"""What benchmarks with baselines share: rules in place of the program under test, which call no model."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import ConfigDict

from dspy_proact.evaluation.benchmark import NO_ROLES, Answer, Benchmark, Detail, Rule, StandIn, Start
from dspy_proact.runs import Measure, Settings
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    from dspy_proact.evaluation.reporting import Reporting


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
    """Means of the parts of these names: shares in [0, 1], but `counts` have no end; of `costs` less is better."""
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

    def module(self, name: str) -> Any:
        """A module beside the declaration, imported when it is needed."""
        return import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")

    def agent(self, settings: Settings, roles: Mapping[str, Any]) -> Any:
        """The program under test where no rule stands in its place."""
        raise NotImplementedError(f"{self.name}: `agent` is not declared")

    def program(self, settings: Settings, start: Start, roles: Mapping[str, Any] = NO_ROLES) -> Any:  # noqa: ARG002
        """The agent, or a rule."""
        rule = _rule(settings)
        return self.agent(settings, roles) if rule.baseline == "none" else ByRule(rule)

    def stand_in(self, role: str) -> StandIn | None:
        """Its rules in a role, from the module of stand-ins; None where it has none."""
        return getattr(self.module("stand_in"), {"assistant": "agent_answer", "judge": "judge_answer"}[role], None)

    def tuning(self, settings: Settings) -> Any:
        """As its own module of tuning says."""
        return self.module("tuning").OwnTuning(self, settings)

    def rule(self, settings: Settings) -> Rule | None:
        """The baseline that the settings name."""
        baseline = _rule(settings).baseline
        return None if baseline == "none" else Rule("rule", f"baseline={baseline}")

    @property
    def reporting(self) -> "Reporting":
        """That of the module of reports."""
        return self.module("report").REPORTING


def _rule(settings: Settings) -> Baseline:
    assert isinstance(settings, Baseline), "the settings of such a benchmark name a rule too"
    return settings
