"""How ProactBench makes a corpus: what a slot is about, and a dialogue from its scenario to its proof."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from dspy_proact.benchmarks.proactbench import embedded
from dspy_proact.benchmarks.proactbench.corpus.personas import Persona, read_personas
from dspy_proact.benchmarks.proactbench.generation import rules
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.dialogue import Play, dialogue_rules
from dspy_proact.benchmarks.proactbench.generation.proof import MATRIX_DIALOGUES, Prover
from dspy_proact.benchmarks.proactbench.generation.roles import programs
from dspy_proact.benchmarks.proactbench.generation.rubrics import Rubrics
from dspy_proact.benchmarks.proactbench.generation.styles import Style, styles_of
from dspy_proact.benchmarks.proactbench.generation.values import MadeDialogue, Scenario, Step
from dspy_proact.generation.attempt import Attempt, RuleError, rollout_of
from dspy_proact.generation.maker import Made, Proof, StageForecast, joint_fingerprint
from dspy_proact.models import Role

T = TypeVar("T")
_ALPHABET = "ABCDEFGHIJKLMNOPRSTVWYZ"
_NAMES = 4
"""Initials that a scenario is given."""
_SHORTEST = 8
"""Turns of the shortest dialogue that is planned."""


@dataclass(frozen=True)
class Setting:
    """What follows from the seed and the slot."""

    persona: Persona
    style: Style
    domain: str
    turns: int
    """At most."""
    initials: str
    """Of given names, which a model would repeat from dialogue to dialogue."""


def cycled(values: Sequence[T], seed: int, slot: int, what: str) -> T:
    """The value of a slot, counted from 1: all of them once in every cycle, each cycle in an order of its own."""
    cycle, index = divmod(slot - 1, len(values))
    return sorted(values, key=lambda value: rollout_of(seed, cycle, what, values.index(value)))[index]
