"""A model in its role of a run, with the program that calls it."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.calls import Price
from dspy_proact.evaluation.ask import Ask
from dspy_proact.models import Model
from dspy_proact.types import RoleIdentity


@dataclass(frozen=True)
class Participant:
    """A model in its role of a run, with the program that calls it."""

    model: Model
    ask: Ask
    """Its program, through the model."""
    learned_on: int = 0
    """Rows of the corpus that the program was compiled on."""
    further_prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Of other models that the program calls, by role."""

    @property
    def program_card(self) -> Any:
        """The card of a compiled program; None for another."""
        return getattr(self.ask.program, "card", None)

    @property
    def card(self) -> str | None:
        """What that says, in two sentences."""
        return self.program_card and self.program_card.summary

    @property
    def system_prompt(self) -> str | None:
        """What the program tells its model beside its inputs."""
        return getattr(self.ask.program, "system_prompt", None) or None

    @property
    def votes(self) -> int:
        """Verdicts that a judge's program asks of its model on each response."""
        return getattr(self.ask.program, "votes", 1)

    @property
    def identity(self) -> RoleIdentity:
        """What decides its answers."""
        program = self.ask.program
        spoken = {"program": program_name(program), "prompt": fingerprint_of(program)}
        return self.model.identity.model_copy(update={**spoken, "cuts": dict(getattr(program, "cuts", {}))})

    @property
    def price(self) -> Price:
        """Of its model."""
        return self.model.price

    @property
    def embedded(self) -> bool:
        """Whether its model is the stand-in that measures nothing."""
        return self.model.embedded

    @property
    def overridden(self) -> tuple[str, ...]:
        """Decoding parameters that are not the preset's."""
        return self.model.overridden


def program_name(program: Any) -> str:
    """What a program is called in runs: its own name, else that of its class; `default` for a plain one of DSPy."""
    kind = type(program)
    return getattr(program, "name", None) or (
        "default" if kind.__module__.startswith("dspy.") else kind.__name__.lower()
    )


def fingerprint_of(program: Any) -> str:
    """sha256 of what a program says to its model: its own `fingerprint`, else of instructions, fields and demos."""
    if hasattr(program, "fingerprint"):
        return program.fingerprint()
    states = [[name, predictor.dump_state()] for name, predictor in program.named_predictors()]
    return hashlib.sha256(json.dumps(states, sort_keys=True, default=str).encode()).hexdigest()


_LONGEST_PROGRAM, _LONGEST_NAME = 20, 100
"""Characters of the name of a program, and of a model or a jury, in a folder's name."""


def run_name(benchmark: str, model: str, judges: Iterable[str], program: str = "") -> str:
    """`<benchmark>--<model>--<judges>`, the beginning of the name of a run's folder.

    Args:
        benchmark: Its name.
        model: That answers.
        judges: Joined by a plus; none where the benchmark grades by itself.
        program: Through which the model answers; empty for the plain one.
    """
    answering = folder_name(model)
    if program:
        answering += f"-{folder_name(program)[:_LONGEST_PROGRAM]}"
    return "--".join(filter(None, [benchmark, answering, "+".join(map(folder_name, judges))[:_LONGEST_NAME]]))


def folder_name(model: str) -> str:
    """A model's name as a part of a folder's name, short enough for any disk."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip(".") or "_")[:_LONGEST_NAME]
