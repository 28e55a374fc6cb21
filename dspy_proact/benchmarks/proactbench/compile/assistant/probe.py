"""Probes: the turns at which a compile of the assistant asks, triggers and control turns alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.cases import cases_of, controls_of
from dspy_proact.benchmarks.proactbench.compile.texts import tamed
from dspy_proact.benchmarks.proactbench.corpus import Corpus
from dspy_proact.benchmarks.proactbench.programs import BareChat
from dspy_proact.benchmarks.proactbench.types import Phase, Turn
from dspy_proact.benchmarks.proactbench.views import AssistantView, ControlView, JudgeView, dialogue_mark
from dspy_proact.compile.folds import units_of
from dspy_proact.plain_text import tame
from dspy_proact.runs import Case


@dataclass(frozen=True)
class Probe:
    """One turn with what each role may see of it."""

    key: str
    """Opaque; examples carry it and nothing else that is not a field of the assistant's signature."""
    scenario: str
    unit: str
    """What folds keep together: the scenario, with all others of its personas."""
    view: JudgeView | ControlView

    @property
    def phase(self) -> Phase | None:
        """None at a control turn."""
        return self.view.rubric.phase if isinstance(self.view, JudgeView) else None

    @property
    def conversation(self) -> tuple[Turn, ...]:
        """Up to the turn, whose response is still to be written."""
        return self.view.conversation

    @property
    def dialogue(self) -> str:
        """A mark of the dialogue that it is from."""
        return dialogue_mark(self.conversation)

    @property
    def example(self) -> dspy.Example:
        """The inputs of the assistant, and the key."""
        seen = AssistantView.of(tamed(self.conversation))
        example = dspy.Example(key=self.key, history=list(seen.history), user_message=seen.user_message)
        return example.with_inputs("history", "user_message")


class TamedChat(BareChat):
    """The bare chat of a compile: its responses go into proposers' prompts, where DSPy's markers would be obeyed."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The answer without markers, as the signature's only output."""
        return {name: tame(text) for name, text in super().parse(signature, completion).items()}


def probes_of(corpus: Corpus) -> tuple[Probe, ...]:
    """Every trigger and control turn of a corpus, triggers first, in its order."""
    cases = [*cases_of(corpus), *controls_of(corpus)]
    units = units_of([(case.group, str(case.meta["persona"])) for case in cases])
    return tuple(_probe(case, units[case.group]) for case in cases)


def of_phases(probes: Sequence[Probe], phases: Sequence[Phase]) -> list[Probe]:
    """The triggers of some phases."""
    return [probe for probe in probes if probe.phase in phases]


def controls_among(probes: Sequence[Probe]) -> list[Probe]:
    """The control turns."""
    return [probe for probe in probes if probe.phase is None]


def _probe(case: Case, unit: str) -> Probe:
    assert isinstance(case.view, JudgeView | ControlView), "ProactBench makes its own cases"
    return Probe(case.key, case.group, unit, case.view)
