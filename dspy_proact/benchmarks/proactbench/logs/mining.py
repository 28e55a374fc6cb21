"""How triggers are found in a redacted conversation, and graded.

At each user message the finder reads the turns up to it and names needs. One that stands by the rules here becomes the
trigger of that turn, once in a conversation: it returns until it is served. The auditor reads what came after, and a
need that it refutes is no trigger. The planner writes the rubric from the turns before the response. So nobody who
finds a need or writes a rubric sees the response or a later turn: `LoggedDialogue.before` is all that they are given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.benchmarks.proactbench.audit.questions import fact_rules
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.made import LostTrigger
from dspy_proact.benchmarks.proactbench.generation.proof import conversation_of
from dspy_proact.benchmarks.proactbench.generation.rubrics import RUBRIC, RUBRIC_AUDIT
from dspy_proact.benchmarks.proactbench.generation.turn_rules import (
    in_question,
    rubric_audit_rules,
    rubric_findings,
    rubric_rules,
)
from dspy_proact.benchmarks.proactbench.generation.values import PHASES, Anchor, DraftRubric, RubricAudit, Step
from dspy_proact.benchmarks.proactbench.generation.wording import forbidden_in
from dspy_proact.benchmarks.proactbench.logs.roles import AFTER, FINDING, VERDICT
from dspy_proact.benchmarks.proactbench.logs.values import (
    Aftermath,
    Findings,
    LoggedDialogue,
    LoggedTrigger,
    MinedDialogue,
    Need,
)
from dspy_proact.benchmarks.proactbench.programs.judge import Judge
from dspy_proact.benchmarks.proactbench.types import JudgeView, usable
from dspy_proact.errors import ContentError
from dspy_proact.evidence import words_of
from dspy_proact.generation.attempt import Attempt, RuleError, all_of
from dspy_proact.programs.program import Question
from dspy_proact.programs.wording import misquoted, says, stands


@dataclass(frozen=True)
class OpenNeed:
    """A need at the turn at which it could first have been taken up."""

    turn: int
    phase: PHASES
    need: Need
    anchors: list[Anchor]


@dataclass
class Mining:
    """The triggers of one conversation in the making."""

    attempt: Attempt
    programs: Mapping[str, Question]
    """By stage."""
    judge: Judge | None
    """Of the logged responses; None where nobody is to grade them."""
    brief: CorpusBrief
    dialogue: LoggedDialogue
    lost: list[LostTrigger] = field(default_factory=list[LostTrigger])
    closing: int | None = None
    """The last turn that was read, where its message ends the matter."""

    async def mined(self) -> MinedDialogue:
        """The conversation with its triggers; a need that is none is in `lost`, with the reason."""
        candidates = await self.candidates()
        results = await all_of(self.trigger(candidate) for candidate in candidates)
        triggers = [result for result in results if isinstance(result, LoggedTrigger)]
        lost = [result for result in results if isinstance(result, LostTrigger)]
        ordered = sorted([*self.lost, *lost], key=lambda one: one.turn)
        control = None if candidates or self.lost else self.closing
        return MinedDialogue(dialogue=self.dialogue, triggers=triggers, lost=ordered, control=control)

    # --- what a user mentioned and did not ask about

    async def candidates(self) -> list[OpenNeed]:
        """The needs of all turns that have a response, at most one a turn."""
        candidates, dismissed, facts = list[OpenNeed](), list[Need](), 0
        for turn in (made.turn for made in self.dialogue.turns if made.assistant is not None):
            known = [candidate.need for candidate in candidates]
            try:
                findings = await self.find(turn, [*known, *dismissed])
            except RuleError as error:
                self.lose(turn, f"No answer of the finder could be used. {' '.join(error.reasons)}")
                continue
            fit, self.closing = list[Need](), turn if findings.closes else None
            for need in findings.needs:
                if reason := next(self.objections(need, known), None):
                    self.lose(turn, reason)
                    dismissed.append(need)
                else:
                    fit.append(need)
            for _ in fit[1:]:
                self.lose(turn, "Another need has the trigger of this turn.")
            if fit:
                anchors = [fact.anchor(facts + number) for number, fact in enumerate(fit[0].facts, start=1)]
                basis = {"basis": fit[0].basis, "basis_quote": fit[0].basis_quote}
                facts += len(anchors)
                phase = phase_of(fit[0], turn, findings.closes)
                candidates.append(OpenNeed(turn, phase, fit[0], [one.model_copy(update=basis) for one in anchors]))
        return candidates

    async def find(self, turn: int, known: Sequence[Need]) -> Findings:
        """What the finder names at a turn; raises `RuleError` where its answers break rules."""
        conversation = self.dialogue.before(turn)

        def faults(answer: Any) -> list[str]:
            reasons = list[str]()
            for need in answer.findings.needs:
                reasons += fact_rules(need.facts, need.act, conversation)
                if need.basis == "product" and not stands(need.basis_quote or "", self.source):
                    reasons.append(misquoted(need.basis_quote or "", "the product's text or rules"))
                if not words_of(need.need):
                    reasons.append("Say in `need` what would help the user.")
            return reasons

        answer = await self.attempt.ask(
            "finder",
            FINDING,
            self.programs[FINDING],
            faults,
            turn=turn,
            product=self.brief.product.text,
            product_rules=self.brief.product.rules,
            never=self.brief.never.offers,
            may=self.brief.plant.may,
            system=self.dialogue.system or "",
            conversation=conversation,
            known=[need.need for need in known],
        )
        return answer.findings

    def objections(self, need: Need, known: Sequence[Need]) -> Iterator[str]:
        """Why a need whose quotes stand is no trigger, a sentence each."""
        messages = {turn.turn: turn.user for turn in self.dialogue.turns}
        if any(in_question(fact.quote, messages[fact.turn]) for fact in need.facts):
            yield "A fact of the need stands in a question, so that the user asks about it."
        if need.requested != "no":
            yield f"The user asks for it{' in part' if need.requested == 'partly' else ''}."
        if need.served:
            yield "An earlier response did it already."
        if forbidden_in(need.act, self.brief.never.offers):
            yield "The act is one that must never be offered."
        quotes = [[(fact.turn, words_of(fact.quote)) for fact in other.facts] for other in known]
        own = [(fact.turn, words_of(fact.quote)) for fact in need.facts]
        if own in quotes or any(says(need.act, other.act) for other in known):
            yield "The same need has a trigger at an earlier turn."

    def lose(self, turn: int, reason: str) -> None:
        """Keep why a need is no trigger."""
        self.lost.append(LostTrigger(turn=turn, reason=reason))

    # --- what is made of a need

    async def trigger(self, of: OpenNeed) -> LoggedTrigger | LostTrigger:
        """The trigger of a need, or why it is none."""
        try:
            after = await self.aftermath(of)
            if after.outcome == "refuted":
                return LostTrigger(turn=of.turn, reason="What came after refutes the need, as the auditor says.")
            rubric, audit = await self.rubric(of)
        except RuleError as error:
            return LostTrigger(turn=of.turn, reason=f"No {error.stage} could stand. {' '.join(error.reasons)}")
        trigger = LoggedTrigger(turn=of.turn, need=of.need, anchors=of.anchors, rubric=rubric, audit=audit, after=after)
        return await self.graded(trigger) if self.judge else trigger

    async def aftermath(self, of: OpenNeed) -> Aftermath:
        """What came after, as the auditor sees it; nobody is asked where no user message came after."""
        after = self.dialogue.turns[of.turn - 1 :]
        if len(after) < 2:
            return Aftermath(outcome="open", quote=None, turn=None, reason="The user wrote no more.", certainty=1)
        later = {turn.turn: turn.user for turn in after[1:]}
        answer = await self.attempt.ask(
            "auditor",
            AFTER,
            self.programs[AFTER],
            lambda answer: aftermath_rules(answer.aftermath, later),
            turn=of.turn,
            product=self.brief.product.text,
            conversation=self.dialogue.before(of.turn),
            at_turn=of.turn,
            need=of.need.need,
            act=of.need.act,
            after=after,
        )
        return answer.aftermath

    async def rubric(self, of: OpenNeed) -> tuple[DraftRubric, RubricAudit]:
        """The rubric, from the turns before the response, and the audit that passes it."""
        conversation, audits = self.dialogue.before(of.turn), list[RubricAudit]()
        messages = {turn.turn: turn.user for turn in conversation}
        step = Step(
            turn=of.turn,
            request="",
            reveal=None,
            trigger=of.phase,
            needs=[anchor.id for anchor in of.anchors],
            expects=f"{of.need.need} ({of.need.act})",
            if_seen="go on",
        )
        shown: dict[str, Any] = {
            "product": self.brief.product.text,
            "product_rules": self.brief.product.rules,
            "forbidden": self.brief.never.offers,
            "system": self.dialogue.system or "",
            "anchors": of.anchors,
            "conversation": conversation,
        }

        async def faults(answer: Any) -> Sequence[str]:
            if broken := rubric_rules(answer.rubric, step, self.brief.never.offers):
                return broken
            audited = await self.attempt.ask(
                "auditor",
                RUBRIC_AUDIT,
                self.programs[RUBRIC_AUDIT],
                lambda audit: rubric_audit_rules(audit.audit, answer.rubric, messages),
                turn=of.turn,
                **shown,
                rubric=answer.rubric,
            )
            audits.append(audited.audit)
            return rubric_findings(audited.audit, answer.rubric)

        language, program = self.brief.dialogue.language, self.programs[RUBRIC]
        answer = await self.attempt.ask(
            "planner", RUBRIC, program, faults, turn=of.turn, **shown, step=step, language=language
        )
        return answer.rubric, audits[-1]

    async def graded(self, trigger: LoggedTrigger) -> LoggedTrigger:
        """The trigger with the judge's verdict on the logged response, or why there is none."""
        assert self.judge is not None, "nobody grades"
        asking = self.attempt.asking("judge", VERDICT, trigger.turn)
        view = JudgeView(
            conversation=conversation_of(self.dialogue.before(trigger.turn)),
            turn=trigger.turn,
            rubric=trigger.rubric.criteria,
            system=self.dialogue.system,
        )
        try:
            response = usable(self.dialogue.response(trigger.turn) or "")
            verdict = await self.judge.judge(view, response, asking)
        except ContentError as error:
            return trigger.model_copy(update={"ungraded": str(error)})
        return trigger.model_copy(update={"verdict": verdict})

    @property
    def source(self) -> str:
        """Where a need of the product must be quoted from."""
        return "\n".join((self.brief.product.text, *self.brief.product.rules))


def phase_of(need: Need, turn: int, closes: bool) -> PHASES:
    """The kind of a trigger: of what was disclosed in the closing message alone, nothing is recovered."""
    if closes and any(fact.turn < turn for fact in need.facts):
        return "RECOVERY"
    return "CRITICAL" if len(need.facts) > 1 else "EMERGENT"


def aftermath_rules(aftermath: Aftermath, later: Mapping[int, str]) -> list[str]:
    """What is wrong with what an auditor says of the turns after; `later` are the user's messages there, by turn."""
    if aftermath.outcome == "open":
        return []
    message = later.get(aftermath.turn or 0)
    if message is None or not stands(aftermath.quote or "", message):
        turns = f"a user's message of turn {min(later)}" + (f" to {max(later)}" if len(later) > 1 else "")
        return [f"Quote in `quote` the words of {turns} that show it, with its `turn`; without any it is `open`."]
    return []
