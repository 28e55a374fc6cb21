"""One attempt to make an item: how roles are asked, what breaks a rule, and who wrote what.

An attempt asks its roles one stage after another. A stage whose answer breaks a rule is asked again with the reasons,
twice; then it is `RuleError`, and the stage before makes its own answer once more (`mended`); then the attempt fails. A
model that answers nothing of use breaks a rule like any other. What a provider fails to deliver is no attempt's fault:
it is raised as it is.

The rollout of a request is a hash of seed, slot, attempt, stage, turn and sample, so that equal requests are no copies
of one another, and no order of arrival decides anything.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import dspy

from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import ContentError
from dspy_proact.models.logged import at_rollout
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import Asking, rendered
from dspy_proact.programs.program import Program

T = TypeVar("T")
U = TypeVar("U")
SAMPLES = 3
"""Answers to one question, at most: the first, and two more with the reasons against the one before."""
Rules = Callable[[Any], Sequence[str]]
"""What is wrong with an answer, a sentence each that says what to do; empty where it may stand."""


_AGAIN = "Your answer before this one cannot be used. Answer once more, with this mended:"


def rollout_of(*parts: object) -> int:
    """A number in [0, 2**62) for what a request is asked for: seed, slot, attempt, stage, turn and sample."""
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:8]) >> 2


class RuleError(Exception):
    """A stage whose answers break a rule, each time it is asked.

    Attributes:
        stage: Its name.
        reasons: Against the last answer.
    """

    def __init__(self, stage: str, reasons: Sequence[str]):
        super().__init__(f"{stage}: {' '.join(reasons)}")
        self.stage, self.reasons = stage, tuple(reasons)


@dataclass(frozen=True)
class Authorship:
    """Who wrote one answer, and at what cost."""

    role: str
    model: str
    stage: str
    turn: int
    """Counted from 1; 0 for a stage of the item as one."""
    sample: int
    """Counted from 1, over all answers of this stage at this turn in the attempt."""
    prompt: str
    """sha256 of the messages."""
    calls: tuple[Call, ...]
    broken: tuple[str, ...] = ()
    """The rules that the answer breaks."""


@dataclass
class Attempt:
    """One attempt to make the item of a slot."""

    seed: int
    slot: int
    """Counted from 1."""
    number: int
    """Counted from 1."""
    asks: Mapping[str, Asking]
    """By role."""
    names: Mapping[str, str]
    """Of the models, by role."""
    authors: list[Authorship] = field(default_factory=list[Authorship])
    """In the order in which answers came."""
    _samples: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])

    async def ask(
        self, role: str, stage: str, program: Program, rules: Rules = lambda _: (), *, turn: int = 0, **inputs: Any
    ) -> dspy.Prediction:
        """The answer of a program that breaks no rule; one that does is asked for again with the reasons, twice.

        Raises:
            RuleError: The last one breaks a rule too, or could not be used.
            ProviderError: The model cannot be reached.
        """
        asking, reasons = self.asking(role, stage, turn), tuple[str, ...]()
        for _ in range(SAMPLES):
            note = "\n".join((_AGAIN, *(f"- {reason}" for reason in reasons))) if reasons else ""
            predictor = program.first(inputs)
            try:
                answer = (await asking(predictor, program.wording(note), **inputs)).prediction
            except ContentError as error:
                reasons = (f"It could not be used ({error.reason}). Answer with one JSON object that has every field.",)
            else:
                if not (reasons := tuple(rules(answer))):
                    return answer
            self.authors[-1] = replace(self.authors[-1], broken=tuple(reasons))
        raise RuleError(stage, reasons)

    def asking(self, role: str, stage: str, turn: int = 0) -> Asking:
        """A way to ask a program of any kind, such as a judge, each question of it a sample of the stage."""

        async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
            self._samples[stage, turn] += 1
            sample = self._samples[stage, turn]
            rollout = rollout_of(self.seed, self.slot, self.number, stage, turn, sample)
            prompt = json.dumps(rendered(predictor, adapter, inputs), ensure_ascii=False, sort_keys=True, default=str)
            calls: list[Call] = []
            try:
                with at_rollout(rollout), collect_calls() as calls:
                    return await self.asks[role](predictor, adapter, **inputs)
            finally:
                sha256 = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
                self.authors.append(Authorship(role, self.names[role], stage, turn, sample, sha256, tuple(calls)))

        return ask

    async def mended(self, earlier: Callable[[str], Awaitable[T]], later: Callable[[T], Awaitable[U]]) -> U:
        """What later stages make of an earlier one; where they break, of what it makes with the reason, once.

        `earlier` is called with the reason, empty at first.
        """
        try:
            return await later(await earlier(""))
        except RuleError as broken:
            return await later(await earlier(str(broken)))
