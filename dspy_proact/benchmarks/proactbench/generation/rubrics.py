"""How the rubric of a turn is written before the response, and audited."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.turn_rules import rubric_audit_rules, rubric_findings, rubric_rules
from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    DraftRubric,
    Order,
    Reveal,
    RubricAudit,
    Scenario,
    Step,
    SwappedTurn,
    TurnPlan,
)
from dspy_proact.generation.attempt import Attempt
from dspy_proact.programs.program import Question

RUBRIC, RUBRIC_AUDIT = "rubric", "audit of rubric"


@dataclass(frozen=True)
class Occasion:
    """The turn for which a rubric is written."""

    step: Step
    order: Order
    before: Sequence[SwappedTurn]
    """What was said before its message."""
    disclosed: Sequence[Anchor]
    """What the user has mentioned, or mentions with its message."""

    def awaiting(self, message: str) -> list[SwappedTurn]:
        """The conversation with a message at the turn, which awaits its response."""
        return [*self.before, SwappedTurn(turn=self.step.turn, user=message, assistant=None)]


@dataclass(frozen=True)
class Rubrics:
    """Writes and audits the rubrics of a scenario."""

    attempt: Attempt
    programs: Mapping[str, Question]
    """By stage."""
    brief: CorpusBrief
    scenario: Scenario

    async def draft(
        self,
        occasion: Occasion,
        audited: Callable[[DraftRubric], Awaitable[Sequence[str]]] | None = None,
        reason: str = "",
    ) -> DraftRubric:
        """A rubric that breaks no rule in code, nor one of an audit where there is one."""

        async def faults(answer: Any) -> Sequence[str]:
            broken = rubric_rules(answer.rubric, occasion.step, self.scenario.forbidden)
            return broken or (await audited(answer.rubric) if audited else ())

        answer = await self.attempt.ask(
            "planner",
            RUBRIC,
            self.programs[RUBRIC],
            faults,
            turn=occasion.step.turn,
            reason=reason,
            **self._product,
            anchors=occasion.disclosed,
            conversation=occasion.before,
            step=occasion.step,
            order=occasion.order,
            language=self.brief.dialogue.language,
        )
        return answer.rubric

    async def audit(self, occasion: Occasion, rubric: DraftRubric, message: str) -> RubricAudit:
        """The audit of a rubric beside the message."""
        conversation = occasion.awaiting(message)
        messages = {turn.turn: turn.user for turn in conversation}
        answer = await self.attempt.ask(
            "auditor",
            RUBRIC_AUDIT,
            self.programs[RUBRIC_AUDIT],
            lambda answer: rubric_audit_rules(answer.audit, rubric, messages),
            turn=occasion.step.turn,
            **self._product,
            anchors=occasion.disclosed,
            conversation=conversation,
            rubric=rubric,
        )
        return answer.audit

    async def mended(self, occasion: Occasion, message: str, reason: str) -> tuple[DraftRubric, RubricAudit]:
        """A rubric in place of one with this fault, and the audit that passes it."""
        audits = list[RubricAudit]()

        async def audited(rubric: DraftRubric) -> Sequence[str]:
            audits.append(await self.audit(occasion, rubric, message))
            return rubric_findings(audits[-1], rubric)

        return await self.draft(occasion, audited, reason), audits[-1]

    async def for_one(self, dialogue: MadeDialogue, turn: int, name: str) -> tuple[DraftRubric, RubricAudit]:
        """An EMERGENT rubric for the anchor of this id, at a turn whose trigger rested on more; and its audit."""
        made, expects = dialogue.turns[turn - 1], dialogue.scenario.anchor(name).consequence
        one = {"trigger": "EMERGENT", "needs": [name], "expects": expects}
        ids = {disclosure.anchor for disclosure in dialogue.disclosures if disclosure.turn <= turn}
        occasion = Occasion(
            dialogue.steps[turn - 1].model_copy(update=one),
            order_of(made.plan, dialogue.scenario),
            dialogue.before(turn)[:-1],
            [anchor for anchor in dialogue.scenario.anchors if anchor.id in ids],
        )
        reason = f"The anchor {name} alone leads to the act; write a rubric of the type EMERGENT that rests on it."
        return await self.mended(occasion, made.message.message, reason)

    @property
    def _product(self) -> dict[str, Any]:
        return {
            "product": self.brief.product.text,
            "product_rules": self.brief.product.rules,
            "forbidden": self.scenario.forbidden,
            "system": self.scenario.system,
        }


def order_of(plan: TurnPlan, scenario: Scenario) -> Order:
    """What the user's writer is given of a plan."""
    anchor = scenario.anchor(plan.reveal) if plan.reveal else None
    reveal = Reveal(fact=anchor.fact, keys=anchor.keys) if anchor else None
    return Order(intent=plan.intent, facts=plan.payload, reveal=reveal, directive=plan.directive)
