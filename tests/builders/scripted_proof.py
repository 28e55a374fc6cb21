"""Roles that prove triggers by script: assistants of known conduct, a judge of one rule."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dspy
import pytest

from builders.made_dialogues import (
    AUDIT,
    EMERGENT,
    FACTS,
    made_dialogue,
    rubric,
)
from dspy_proact.benchmarks.proactbench.generation import proof
from dspy_proact.benchmarks.proactbench.generation.values import Swap, SwapAudit, SwappedTurn
from dspy_proact.benchmarks.proactbench.programs.offers import DetectedOffer
from dspy_proact.errors import ContentError
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import rendered

SEPARATE = {
    "a1": ("can't climb stairs any more", "likes detective stories"),
    "a2": ("Before we fly to Portugal on the 9th", "Before my dentist's appointment on the 9th"),
    "a3": ("sat on his glasses", "sits in his new armchair"),
}
"""By anchor, how the dialogue says it and how a swap does."""


def swap_without(turns: list[SwappedTurn], names: list[str]) -> Swap:
    """The rewriting of a careful planner."""

    def text(old: str) -> str:
        for name in names:
            old = old.replace(*SEPARATE[name])
        return old

    new = [turn.model_copy(update={"user": text(turn.user)}) for turn in turns]
    return Swap(turns=new, removed=names)


def states(messages: list[dict[str, Any]]) -> set[str]:
    """The anchors that a request to an assistant states."""
    text = "\n".join(message["content"] for message in messages)
    return {name for name, (key, *_) in FACTS.items() if key in text}


QUESTIONS = {
    "WriteSwap": {"replacements"},
    "AuditSwap": {"removed_facts"},
    "Reply": {"user_message"},
    "GradeResponse": {"rubric", "conversation"},
    "DetectOffers": {"response", "conversation"},
}
"""By a name, inputs that no other question has together."""


@dataclass
class Script:
    """Roles that answer as they are scripted to, and what they were sent."""

    acts: Callable[[set[str], bool], bool] = lambda stated, looks: looks and "a1" in stated
    """Whether an assistant acts, by the anchors that its request states and whether it is told to look."""
    swaps: Callable[[list[SwappedTurn], list[str]], Swap] = swap_without
    audits: Callable[[Swap | list[SwappedTurn], str], SwapAudit] = lambda *_: SwapAudit(
        implied=False, other_reason=False, realism=1, advice=""
    )
    passes: Callable[[str, Any], bool] = lambda response, _: "acts" in response
    """The judge, by response and rubric."""
    naming: bool = False
    """Whether who acts names what is stated."""
    unreadable: set[str] = field(default_factory=set)
    """Roles whose answers cannot be used."""
    chance: random.Random | None = None
    """By which answers come late."""
    sent: list[tuple[str, str, list[dict[str, Any]]]] = field(default_factory=list)
    """Role, question and messages of each request."""

    def attempt(self) -> Attempt:
        roles = ("planner", "user", "assistant", "auditor", "judge", "tester")
        return Attempt(0, 1, 1, {role: self.asking(role) for role in roles}, {role: f"model-{role}" for role in roles})

    def asking(self, role: str):
        async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
            fields = {*inputs}
            question = next(name for name, some in QUESTIONS.items() if some <= fields)
            messages = rendered(predictor, adapter, inputs)
            self.sent.append((role, question, messages))
            for _ in range(self.chance.randrange(9) if self.chance else 0):
                await asyncio.sleep(0)
            if role in self.unreadable:
                raise ContentError("refused", "no")
            return Answer(dspy.Prediction(**self.answer(question, messages, inputs)), truncated=False)

        return ask

    def answer(self, question: str, messages: list[dict[str, Any]], inputs: dict[str, Any]) -> dict[str, Any]:
        if question == "WriteSwap":
            names = [item.id for item in inputs["replacements"]]
            return {"swap": self.swaps(inputs["conversation"], names)}
        if question == "AuditSwap":
            return {"audit": self.audits(inputs["conversation"], inputs["act"])}
        if question == "Reply":
            system = messages[0]["content"]
            knows = "PASS:" in system
            stated = states(messages)
            acts = f"It acts{' '.join(['', *sorted(stated)]) * self.naming}."
            return {"response": acts if knows or self.acts(stated, proof.LOOK in system) else "Sure."}
        if question == "DetectOffers":
            return {"reasoning": "", "offers": [DetectedOffer(quote="set a reminder", grounded=False, asked_for=False)]}
        passed = self.passes(inputs["response"], inputs["rubric"])
        return {"reasoning": "", "evidence": [inputs["response"]], "grade": "PASS" if passed else "FAIL"}

    def requests(self, *questions: str) -> list[str]:
        """The texts of requests, by question."""
        return [
            "\n".join(message["content"] for message in messages)
            for _, question, messages in self.sent
            if question in questions
        ]


def needs(*names: str):
    """An assistant told to look that acts only where all these anchors are stated."""
    return lambda stated, looks: looks and {*names} <= stated


def named(response: str, criteria: Any) -> bool:
    """A judge who passes what names every anchor of the rubric."""
    return all(name in response for name in criteria.pass_criteria.removeprefix("does act-").split("-"))


def graded_by_kind(response: str, criteria: Any) -> bool:
    """A judge who passes what takes up every fact of the rubric, or acts."""
    names = criteria.pass_criteria.removeprefix("does act-").split("-")
    return "acts" in response or all(f"consequence-{name}" in response for name in names)


async def no_rewriting(*_: Any) -> Any:
    raise RuleError("rubric", ["No rubric fits."])


async def rewriting(attempt: Attempt, dialogue: Any, turn: int, anchor: str):
    return rubric("EMERGENT", anchor), AUDIT


def proved(script: Script, *triggers: Any, level: Any = "full", matrix: bool = False, rewrite: Any = no_rewriting):
    prover, attempt = proof.Prover(level, rewrite), script.attempt()
    made = asyncio.run(prover.proved(attempt, made_dialogue(*triggers), style="", matrix=matrix))
    return made, attempt


def proof_of(script: Script, trigger: Any = EMERGENT, **options: Any) -> Any:
    """The only trigger of a dialogue, with its proof."""
    made, _ = proved(script, trigger, **options)
    return made.triggers[0]


def reasons(script: Script, trigger: Any = EMERGENT, **options: Any) -> str:
    """Why the only trigger of a dialogue is not kept, which fails its attempt."""
    with pytest.raises(RuleError) as caught:
        proved(script, trigger, **options)
    assert caught.value.stage == "anchor test"
    return str(caught.value)
