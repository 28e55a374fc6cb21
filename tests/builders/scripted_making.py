"""A library's brief, and roles that make a dialogue of it: clean ones, unless a test scripts them otherwise.

An answer is made of the inputs of the question alone, so that whatever a role sees here it sees of the real request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import dspy

from builders.made import rubric_audit, turn_audit, turn_plan
from dspy_proact.benchmarks.proactbench.generation import roles
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    BlueprintAudit,
    DraftRubric,
    Ground,
    Order,
    Person,
    RubricAudit,
    Scenario,
    ScenarioAudit,
    ServedAnchor,
    StatedFact,
    Step,
    TurnAudit,
    TurnPlan,
    Uptake,
    UserMessage,
)
from dspy_proact.benchmarks.proactbench.programs.assistant import Reply
from dspy_proact.generation.attempt import Attempt
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import rendered

ROLES = ("planner", "user", "assistant", "auditor", "judge", "tester")
PRODUCT = (
    "The town library lends ten books at once. A loan runs for three weeks. Loans are renewed before they end, by two "
    "weeks. Large print stands on the ground floor. Books are brought home to people who cannot come. The library is "
    "closed on Sundays."
)
RULES = ["Never waive a fee."]


def library_brief(**dialogue: Any) -> CorpusBrief:
    return CorpusBrief.model_validate(
        {
            "product": {"name": "Town library", "text": PRODUCT, "rules": RULES},
            "users": {"who": "Members of the library", "personas": ["Ida, 52, gardener.", "Ida, 31, cook."]},
            "plant": {"may": ["a journey", "an illness"], "domains": ["travel", "family"]},
            "never": {"offers": ["waive the fee"]},
            "dialogue": dialogue,
        }
    )


_FACTS = {
    "a1": ("Lisbon", "I fly to Lisbon on the ninth.", "The loan ends while she is away: renew it before."),
    "a2": ("crutches", "My uncle walks on crutches.", "Books can be brought to his home."),
    "a3": ("magnifier", "My uncle reads with a magnifier.", "Large print stands on the ground floor."),
    "a4": ("toddler", "I mind a toddler on Mondays.", "There are picture books as well."),
}


def clean_scenario() -> Scenario:
    quotes = {"a1": "Loans are renewed before they end", "a2": "Books are brought home", "a3": "Large print stands"}
    anchors = [
        Anchor(
            id=name,
            fact=fact,
            keys=[key],
            consequence=consequence,
            basis="product" if name in quotes else "general",
            basis_quote=quotes.get(name),
            domain="family",
            neutral=f"I like tea, number {name[1]}.",
            resolved="It is taken care of.",
        )
        for name, (key, fact, consequence) in _FACTS.items()
    ]
    return Scenario(
        title="Books for an uncle",
        cast=[Person(name="Ida", relation="self"), Person(name="Bo", relation="neighbour")],
        date="Tuesday 1 June",
        persona="Ida, 52, is a gardener and comes to the library every week.",
        request="Find novels to borrow and have them put aside.",
        hidden_goal="Everybody in the family reads on without a trip in vain.",
        anchors=anchors,
        colour=["a green bag", "a bicycle", "the rain", "a cat called Mo"],
        forbidden=[],
        system="You answer for the town library. Today is Tuesday 1 June. Two novels by Ishiguro are in.",
    )


def clean_steps() -> list[Step]:
    rows: list[tuple[str, str | None, Any, list[str], str]] = [
        ("Ask which novels are in.", None, None, [], ""),
        ("Ask how many books may be taken.", "a1", "EMERGENT", ["a1"], "Renews or sets a reminder before the trip."),
        ("Ask for a novel by Ishiguro.", "a2", None, [], ""),
        ("Ask for a second novel.", None, None, [], ""),
        ("Ask to have both put aside.", "a3", "CRITICAL", ["a2", "a3"], "Has large print brought to the uncle's home."),
        ("Ask about the shelf for pick-up.", None, None, [], ""),
        ("Ask about opening hours.", "a4", None, [], ""),
        ("Say that all is settled and goodbye.", None, "RECOVERY", ["a4"], "Puts picture books aside as well."),
    ]
    return [
        Step(turn=turn, request=request, reveal=reveal, trigger=trigger, needs=needs, expects=expects, if_seen="drop")
        for turn, (request, reveal, trigger, needs, expects) in enumerate(rows, start=1)
    ]


def clean_plan(inputs: dict[str, Any]) -> TurnPlan:
    step: Step = inputs["step"]
    reveal = None if step.reveal in inputs["disclosed"] else step.reveal
    return turn_plan(intent=step.request, reveal=reveal)


def clean_message(inputs: dict[str, Any]) -> UserMessage:
    order: Order = inputs["order"]
    turn = len(inputs["conversation"]) + 1
    ending = f"So question {turn}: {order.intent[4:-1]}?"
    if "goodbye" in order.intent:
        ending = f"That is all for turn {turn}."
    if not order.reveal:
        return UserMessage(message=ending, quote=None)
    return UserMessage(message=f"{order.reveal.fact} {ending}", quote=order.reveal.fact.rstrip("."))


def clean_message_audit(inputs: dict[str, Any]) -> TurnAudit:
    order, message = inputs["order"], inputs["message"]
    name = next((a.id for a in inputs["anchors"] if order.reveal and a.fact == order.reveal.fact), None)
    facts = [StatedFact(quote=order.reveal.fact, kind="anchor", anchor=name)] if name else []
    return turn_audit(facts=facts, act="asks" if "?" in message else "closes", reply_must_hold=["an answer"])


def clean_rubric(inputs: dict[str, Any]) -> DraftRubric:
    step: Step = inputs["step"]
    return DraftRubric(
        type=cast("Any", step.trigger),
        anchors=step.needs,
        pass_criteria=f"The response acts on it: {step.expects}",
        partial_criteria="The response goes beyond the request in that direction.",
        fail_criteria="The response only answers.",
        act=step.expects,
    )


def clean_rubric_audit(inputs: dict[str, Any]) -> RubricAudit:
    facts = {anchor.id: anchor.fact for anchor in inputs["anchors"]}
    grounds = [
        Ground(anchor=name, quote=facts[name], turn=turn.turn)
        for name in inputs["rubric"].anchors
        for turn in inputs["conversation"]
        if facts[name] in turn.user
    ]
    return rubric_audit(grounds=grounds)


CLEAN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "WriteScenario": lambda _: {"scenario": clean_scenario()},
    "AuditScenario": lambda _: {
        "audit": ScenarioAudit(
            contradictions=[],
            consequence_in_request=[],
            goal_in_system=False,
            anchors_in_system=[],
            false_consequences=[],
            advice="",
        )
    },
    "WriteBlueprint": lambda _: {"steps": clean_steps()},
    "AuditBlueprint": lambda _: {
        "audit": BlueprintAudit(forced_pairs=[], asked_for=[], unsolvable=[], open_recovery=[], advice="")
    },
    "PlanTurn": lambda inputs: {"plan": clean_plan(inputs)},
    "WriteRubric": lambda inputs: {"rubric": clean_rubric(inputs)},
    "WriteMessage": lambda inputs: {"written": clean_message(inputs)},
    "AuditMessage": lambda inputs: {"audit": clean_message_audit(inputs)},
    "AuditRubric": lambda inputs: {"audit": clean_rubric_audit(inputs)},
    "AuditUptake": lambda _: {"uptake": Uptake(served=[])},
    "Reply": lambda inputs: {"response": f"Answer {len(inputs['history']) + 1}."},
}
"""By question."""


@dataclass
class ScriptedRoles:
    """Roles that answer as scripted; `answers` are in place of the clean ones, by question."""

    answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    sent: list[tuple[str, str, list[dict[str, Any]]]] = field(default_factory=list)
    """Role, question and messages of each request."""

    def attempt(self, seed: int = 0, slot: int = 1, number: int = 1) -> Attempt:
        asks = {role: self._asking(role) for role in ROLES}
        return Attempt(seed, slot, number, asks, {role: f"model-{role}" for role in ROLES})

    def _asking(self, role: str) -> Any:
        async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
            question = next(name for name in CLEAN if {*inputs} == _fields(name))
            self.sent.append((role, question, rendered(predictor, adapter, inputs)))
            fields = self.answers.get(question, CLEAN[question])(inputs)
            return Answer(dspy.Prediction(**fields), truncated=False)

        return ask


def _fields(question: str) -> set[str]:
    signature = Reply if question == "Reply" else getattr(roles, question)
    return {*signature.input_fields}


def served(name: str, quote: str) -> dict[str, Any]:
    return {"uptake": Uptake(served=[ServedAnchor(anchor=name, quote=quote)])}
