"""One dialogue, played turn by turn from its steps.

A turn goes: plan, rubric where it is a trigger, message, audits of message and rubric side by side, commit, reply,
audit of the reply. A message or a rubric that keeps breaking rules is mended by another plan; where that mends no
rubric, the turn becomes an ordinary one.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.generation import plan_rules, turn_rules, wording
from dspy_proact.benchmarks.proactbench.generation.made import (
    Disclosure,
    Link,
    LostTrigger,
    MadeDialogue,
    MadeTrigger,
    MadeTurn,
)
from dspy_proact.benchmarks.proactbench.generation.proof import conversation_of
from dspy_proact.benchmarks.proactbench.generation.rubrics import RUBRIC, RUBRIC_AUDIT, Occasion, Rubrics, order_of
from dspy_proact.benchmarks.proactbench.generation.styles import Style
from dspy_proact.benchmarks.proactbench.generation.values import (
    DraftRubric,
    Order,
    PastTrigger,
    Person,
    RubricAudit,
    Step,
    SwappedTurn,
    TurnAudit,
    TurnPlan,
    UserMessage,
)
from dspy_proact.benchmarks.proactbench.programs.assistant import Assistant
from dspy_proact.generation.attempt import RuleError, all_of


@dataclass
class Spoken:
    """The message of a turn, and what was audited beside it."""

    plan: TurnPlan
    message: UserMessage | None = None
    audit: TurnAudit | None = None
    rubric: DraftRubric | None = None
    verdict: RubricAudit | RuleError | None = None
    """Of the rubric."""


@dataclass
class Play:
    """A dialogue in the making."""

    rubrics: Rubrics
    style: Style
    steps: Sequence[Step]
    turns: list[MadeTurn] = field(default_factory=list[MadeTurn])
    triggers: list[MadeTrigger] = field(default_factory=list[MadeTrigger])
    lost: list[LostTrigger] = field(default_factory=list[LostTrigger])
    disclosures: list[Disclosure] = field(default_factory=list[Disclosure])
    served: set[str] = field(default_factory=set[str])
    """Ids of the anchors on which a reply acted."""
    chain: list[Link] = field(default_factory=list[Link])

    def __post_init__(self) -> None:
        self.attempt, self.scenario = self.rubrics.attempt, self.rubrics.scenario
        self.ids = [anchor.id for anchor in self.scenario.anchors]
        self.assistant = Assistant(self.scenario.system.strip() or None)

    @property
    def disclosed(self) -> set[str]:
        """Ids of the anchors that the user mentioned."""
        return {disclosure.anchor for disclosure in self.disclosures}

    @property
    def conversation(self) -> list[SwappedTurn]:
        """What was said so far."""
        return [SwappedTurn(turn=made.turn, user=made.message.message, assistant=made.reply) for made in self.turns]

    async def played(self) -> None:
        """Play all steps; raises `RuleError` where a turn cannot be mended."""
        for step in self.steps:
            if not await self.turn(step):
                return

    async def turn(self, step: Step) -> bool:
        """Play a step; False where the dialogue is over before it."""
        needs = {*step.needs}
        if step.trigger in ("EMERGENT", "RECOVERY") and needs <= self.served:
            step = self.ordinary(step, "The assistant acted on its facts before.")
        if step.trigger and (missing := needs - self.disclosed - {step.reveal}):
            step = self.ordinary(step, f"The user never mentioned {', '.join(sorted(missing))}.")
        try:
            spoken = await self.attempt.mended(partial(self.plan, step), partial(self.speak, step))
        except RuleError as error:
            if error.stage not in (RUBRIC, RUBRIC_AUDIT):
                raise
            step = self.ordinary(step, str(error))
            spoken = await self.attempt.mended(partial(self.plan, step), partial(self.speak, step))
        if spoken.message is None:
            return False
        if step.trigger and not spoken.rubric:
            step = self.ordinary(step, "The assistant did before what it expects.")
        await self.respond(step, spoken)
        return True

    def ordinary(self, step: Step, reason: str) -> Step:
        """The step as an ordinary turn, with the reason kept."""
        self.lost.append(LostTrigger(turn=step.turn, reason=reason))
        return step.model_copy(update={"trigger": None, "needs": [], "expects": ""})

    async def plan(self, step: Step, reason: str) -> TurnPlan:
        """What the user is to say: by the planner at a trigger, at the turn after one and where a plan failed."""
        if not (step.trigger or reason or any(before.trigger for before in self.steps[step.turn - 2 : step.turn - 1])):
            reveal = None if step.reveal in self.disclosed else step.reveal
            flags = {"already_answered": False, "already_done": False, "stop": False}
            return TurnPlan(**flags, intent=step.request, payload=[], reveal=reveal, directive="")
        ahead = bool(step.trigger) or any(later.trigger for later in self.steps[step.turn :])
        answer = await self.attempt.ask(
            "planner",
            "plan",
            self.rubrics.programs["plan"],
            lambda answer: plan_rules.plan_rules(answer.plan, step, self.scenario, self.disclosed, ahead),
            turn=step.turn,
            reason=reason,
            scenario=self.scenario,
            step=step,
            conversation=self.conversation,
            disclosed=sorted(self.disclosed),
            past=[PastTrigger(turn=t.turn, anchors=t.rubric.anchors, taken_up=t.taken_up) for t in self.triggers],
            served=sorted(self.served),
        )
        return answer.plan

    async def speak(self, step: Step, plan: TurnPlan) -> Spoken:
        """The message of a plan with its audits and the rubric; no message where the plan ends the dialogue."""
        spoken = Spoken(plan)
        if plan.stop:
            return spoken
        order, mentioned = order_of(plan, self.scenario), {*self.disclosed, plan.reveal}
        disclosed = [anchor for anchor in self.scenario.anchors if anchor.id in mentioned]
        occasion = Occasion(step, order, self.conversation, disclosed)
        if step.trigger and not (plan.already_done and step.if_seen == "drop"):
            spoken.rubric = await self.rubrics.draft(occasion)
        cast = self.cast(order, plan.reveal)
        answer = await self.attempt.ask(
            "user",
            "message",
            self.rubrics.programs["message"],
            lambda answer: self.faults(answer.written, occasion, spoken, cast),
            turn=step.turn,
            cast=cast,
            persona=self.scenario.persona,
            colour=self.scenario.colour,
            style=self.style.text,
            most_words=self.style.most_words,
            language=self.rubrics.brief.dialogue.language,
            date=self.scenario.date,
            conversation=self.conversation,
            order=order,
        )
        spoken.message = answer.written
        if isinstance(spoken.verdict, RuleError):
            raise spoken.verdict
        if spoken.rubric and (reasons := self.at_fault(spoken)):
            mended = await self.rubrics.mended(occasion, answer.written.message, " ".join(reasons))
            spoken.rubric, spoken.verdict = mended
        return spoken

    async def faults(
        self, written: UserMessage, occasion: Occasion, spoken: Spoken, cast: Sequence[Person]
    ) -> Sequence[str]:
        """What is wrong with a message, by rules and by its audit; the rubric is audited beside it."""
        order, reveal = occasion.order, spoken.plan.reveal
        mentioned = {anchor.id for anchor in occasion.disclosed}
        broken = turn_rules.message_rules(
            written,
            order,
            hidden=[anchor for anchor in self.scenario.anchors if anchor.id not in mentioned],
            withheld=[person.name for person in self.scenario.cast if person not in cast],
            most_words=self.style.most_words,
            earlier=[made.message.message for made in self.turns],
        )
        if broken:
            return broken
        await all_of(
            (self.audit_message(written, occasion, spoken, cast), self.audit_rubric(written, occasion, spoken))
        )
        assert spoken.audit is not None, "it was just done"
        if spoken.audit.already_answered and not spoken.plan.already_answered:
            raise RuleError("audit of message", ["An earlier response answers it already; let the user go on."])
        history = [text for made in self.turns for text in (made.message.message, made.reply)]
        people = [f"{person.name}, {person.relation}" for person in cast]
        known = [self.scenario.persona, self.scenario.date, *self.scenario.colour, *people, order.model_dump_json()]
        return turn_rules.message_findings(
            spoken.audit,
            reveal,
            disclosed=self.disclosed,
            known="\n".join(known + history),
            closing=occasion.step.trigger == "RECOVERY",
            act=spoken.rubric.act if spoken.rubric else "",
        )

    async def audit_message(
        self, written: UserMessage, occasion: Occasion, spoken: Spoken, cast: Sequence[Person]
    ) -> None:
        """Have the auditor take a message apart."""
        answer = await self.attempt.ask(
            "auditor",
            "audit of message",
            self.rubrics.programs["audit of message"],
            lambda answer: turn_rules.message_audit_rules(answer.audit, written.message, spoken.plan.reveal, self.ids),
            turn=occasion.step.turn,
            anchors=self.scenario.anchors,
            cast=cast,
            persona=self.scenario.persona,
            colour=self.scenario.colour,
            order=occasion.order,
            conversation=occasion.before,
            message=written.message,
        )
        spoken.audit = answer.audit

    def at_fault(self, spoken: Spoken) -> Sequence[str]:
        """What the audit of a rubric found wrong with it, as far as there is one."""
        if not spoken.rubric or not isinstance(spoken.verdict, RubricAudit):
            return ()
        return turn_rules.rubric_findings(spoken.verdict, spoken.rubric)

    async def audit_rubric(self, written: UserMessage, occasion: Occasion, spoken: Spoken) -> None:
        """Have the rubric audited beside a message, which the failure of that audit does not concern.

        One with a fault is written anew once the message stands; until then nobody is asked about it again.
        """
        if spoken.rubric and not self.at_fault(spoken):
            try:
                spoken.verdict = await self.rubrics.audit(occasion, spoken.rubric, written.message)
            except RuleError as error:
                spoken.verdict = error

    def cast(self, order: Order, reveal: str | None) -> list[Person]:
        """The people whom the user may name: not those of whom only facts speak that were not mentioned yet."""
        scenario, mentioned = self.scenario, {*self.disclosed, reveal}
        hidden = [anchor.fact for anchor in scenario.anchors if anchor.id not in mentioned]
        facts = [anchor.fact for anchor in scenario.anchors if anchor.id in mentioned]
        open_texts = [scenario.request, scenario.persona, *scenario.colour, *facts, order.model_dump_json()]
        return [
            person
            for person in scenario.cast
            if any(wording.holds(text, person.name) for text in open_texts)
            or not any(wording.holds(fact, person.name) for fact in hidden)
        ]

    async def respond(self, step: Step, spoken: Spoken) -> None:
        """Commit a message and its rubric, and take the reply to it."""
        message, audit, reveal, rubric = spoken.message, spoken.audit, spoken.plan.reveal, spoken.rubric
        assert message is not None, "it was spoken"
        assert audit is not None, "and audited"
        for kind, content in committed(spoken.plan, rubric, message, audit):
            self.chain.append(linked(self.chain, step.turn, kind, content))
        if reveal and message.quote:
            self.disclosures.append(Disclosure(anchor=reveal, turn=step.turn, quote=message.quote))
        awaiting = [*self.conversation, SwappedTurn(turn=step.turn, user=message.message, assistant=None)]
        answer = await self.attempt.ask(
            "assistant",
            "reply",
            self.assistant,
            lambda answer: turn_rules.reply_rules(answer.response),
            turn=step.turn,
            history=list(conversation_of(awaiting[:-1])),
            user_message=message.message,
        )
        reply = answer.response
        self.chain.append(linked(self.chain, step.turn, "reply", reply))
        served = await self.uptake(step, awaiting, reply)
        self.served |= served
        parts = {"plan": spoken.plan, "message": message, "audit": audit, "reply": reply, "served": sorted(served)}
        self.turns.append(MadeTurn(turn=step.turn, **parts))
        if rubric and isinstance(spoken.verdict, RubricAudit):
            taken_up = {*rubric.anchors} <= served
            self.triggers.append(MadeTrigger(turn=step.turn, rubric=rubric, audit=spoken.verdict, taken_up=taken_up))

    async def uptake(self, step: Step, conversation: Sequence[SwappedTurn], reply: str) -> set[str]:
        """Ids of the anchors on which a reply acts; nobody is asked once no trigger is left."""
        if not step.trigger and not any(later.trigger for later in self.steps[step.turn :]):
            return set()
        answer = await self.attempt.ask(
            "auditor",
            "audit of reply",
            self.rubrics.programs["audit of reply"],
            lambda answer: turn_rules.uptake_rules(answer.uptake, reply, self.ids),
            turn=step.turn,
            anchors=self.scenario.anchors,
            conversation=conversation,
            response=reply,
        )
        return {entry.anchor for entry in answer.uptake.served}


def committed(
    plan: TurnPlan, rubric: DraftRubric | None, message: UserMessage, audit: TurnAudit
) -> Iterator[tuple[Any, BaseModel]]:
    """What enters the chain before a reply, in its order."""
    yield "plan", plan
    if rubric:
        yield "rubric", rubric
    yield "message", message
    yield "audit", audit


def linked(chain: Sequence[Link], turn: int, kind: Any, content: BaseModel | str) -> Link:
    """The next entry of a chain."""
    text = content if isinstance(content, str) else content.model_dump_json()
    before = chain[-1].sha256 if chain else ""
    sha256 = hashlib.sha256(f"{before}\n{turn} {kind}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return Link(turn=turn, kind=kind, sha256=sha256)


def dialogue_rules(dialogue: MadeDialogue) -> list[str]:
    """What is wrong with a dialogue as one, before its proof."""
    reasons, rubrics = list[str](), {made.turn: made.rubric for made in dialogue.triggers}
    if len(dialogue.turns) < plan_rules.LEAST_TURNS:
        reasons.append(f"It has {len(dialogue.turns)} turns; {plan_rules.LEAST_TURNS} are needed.")
    if not dialogue.triggers:
        reasons.append("No trigger is left: " + " ".join(f"turn {lost.turn}: {lost.reason}" for lost in dialogue.lost))
    disclosed, chain = dict[str, int](), list[Link]()
    for disclosure in dialogue.disclosures:
        if disclosed.setdefault(disclosure.anchor, disclosure.turn) != disclosure.turn:
            reasons.append(f"{disclosure.anchor} is disclosed twice.")
    for turn, rubric in rubrics.items():
        if late := [name for name in rubric.anchors if disclosed.get(name, turn + 1) > turn]:
            reasons.append(f"Turn {turn}: the rubric rests on {', '.join(late)}, not disclosed up to there.")
    for made in dialogue.turns:
        for kind, content in committed(made.plan, rubrics.get(made.turn), made.message, made.audit):
            chain.append(linked(chain, made.turn, kind, content))
        chain.append(linked(chain, made.turn, "reply", made.reply))
    if chain != dialogue.chain:
        reasons.append("The hash chain does not hold: something was changed, or came after the response.")
    return reasons
