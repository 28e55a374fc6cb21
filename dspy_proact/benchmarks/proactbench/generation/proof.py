"""What shows that a trigger measures something: that a pass depends on the planted facts.

The *anchor test* answers a trigger with its anchors and without them (`swap`), by an assistant that is told to look for
what was disclosed and by a bare one. Each response is graded by the rubric beside the conversation *with* the anchors,
in both arms: else a rubric about a fact that nobody stated would fail by itself. *Leave-one-out* swaps each anchor of a
CRITICAL rubric alone. What is kept is answered afresh, since selection by a noisy test flatters what is left. *Planted
assistants* of known conduct show what the rubrics reward.

Work goes on side by side. Each sample has its way to ask before any answer is awaited, and no two of them share a name
of stage and a turn unless they are begun together: so that no order of arrival decides a rollout.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.made import (
    UNSCORED,
    MadeDialogue,
    MadeTrigger,
    Sampled,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.planted import CHECKLIST, KNOWING, PLANTED, planted_response
from dspy_proact.benchmarks.proactbench.generation.roles import prompt
from dspy_proact.benchmarks.proactbench.generation.swap import (
    AuditSwap,
    Replacement,
    WriteSwap,
    misfits,
    objections,
)
from dspy_proact.benchmarks.proactbench.generation.values import DraftRubric, RubricAudit, Swap, SwapAudit, SwappedTurn
from dspy_proact.benchmarks.proactbench.programs.assistant import Assistant
from dspy_proact.benchmarks.proactbench.programs.judge import Judge
from dspy_proact.benchmarks.proactbench.programs.offers import OfferDetector
from dspy_proact.benchmarks.proactbench.types import (
    AssistantView,
    ControlView,
    Dialogue,
    Grade,
    JudgeView,
    Turn,
)
from dspy_proact.errors import ContentError
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, RuleError, all_of
from dspy_proact.generation.maker import Proof
from dspy_proact.programs.asking import Asking
from dspy_proact.programs.program import Question

Rewriting = Callable[[Attempt, MadeDialogue, int, str], Awaitable[tuple[DraftRubric, RubricAudit]]]
"""Writes and audits an EMERGENT rubric for a turn, by the id of its one anchor; raises `RuleError`."""
SAMPLES = {"full": 3, "light": 1}
"""Responses of an assistant in an arm."""
MATRIX_DIALOGUES = 15
"""So many dialogues, the first, are answered by planted assistants."""
LOOK = prompt("look")
"""System text of the assistant that is told to look."""


def enough(samples: int) -> int:
    """How many of so many responses must agree: 2 of 3, and 1 of 1."""
    return max(1, samples - 1)


def weakness(looking: Sampled) -> str:
    """Why the anchor test of a trigger failed, in a sentence; empty where it is kept.

    It is kept where, of three responses in an arm, passes with the anchors less passes without are at least 2; of one,
    1. What is unscored counts against the trigger in either arm.
    """
    arms = looking.with_anchors, looking.without_anchors
    (passes, leaks), count = (arm.count(Grade.PASS) for arm in arms), len(arms[0])
    if passes - leaks - arms[1].count(UNSCORED) >= enough(count):
        return ""
    unscored = sum(arm.count(UNSCORED) for arm in arms)
    note = f"; {unscored} could not be scored" if unscored else ""
    return f"Told to look, {passes} of {count} responses pass with the facts and {leaks} of {count} without{note}."


class Prover:
    """Proves the triggers of dialogues.

    Args:
        level: `full`, `light` for one response in an arm in place of three, or `none` for drafts.
        rewriting: Of the rubric of a CRITICAL trigger that one anchor alone can pass.

    Attributes:
        programs: All that it asks, but for assistants.
    """

    def __init__(self, level: Proof, rewriting: Rewriting):
        self.level, self.rewriting = level, rewriting
        self.writing, self.auditing, self.judge = Question(WriteSwap), Question(AuditSwap), Judge()
        self.detector = OfferDetector()
        self.programs = (self.writing, self.auditing, self.judge, self.detector)
        self.looking, self.bare = Assistant(LOOK), Assistant()

    async def proved(self, attempt: Attempt, dialogue: MadeDialogue, *, style: str, matrix: bool) -> MadeDialogue:
        """The dialogue with what was shown of each trigger; one that was not kept stays in it, with the reason.

        Args:
            attempt: Whose roles are asked: `planner` and `auditor` for swaps, `assistant`, `judge` and `tester`.
            dialogue: Whose triggers have no proof yet.
            style: How its user writes; empty where that is not laid down.
            matrix: Whether planted assistants answer it too.

        Raises:
            RuleError: No trigger of it is kept.
        """
        if self.level == "none":
            return dialogue
        tests = [TriggerTest(self, attempt, dialogue, made, style) for made in dialogue.triggers]
        triggers = await all_of(test.proved() for test in tests)
        dialogue = dialogue.model_copy(update={"triggers": triggers})
        tests = [replace(test, made=made) for test, made in zip(tests, triggers, strict=True) if made.published]
        if not tests:
            reasons = [f"Turn {made.turn}: {made.proof.reason}" for made in triggers if made.proof]
            raise RuleError("anchor test", reasons or ["There is no trigger."])
        if not matrix:
            return dialogue
        grades = await all_of(test.planted(name) for name in PLANTED for test in tests)
        rows = {name: {test.made.turn: grades.pop(0) for test in tests} for name in PLANTED}
        charged = zip(tests, await all_of(test.charged() for test in tests), strict=True)
        charges = {test.made.turn: charge for test, charge in charged if charge is not None}
        return dialogue.model_copy(update={"matrix": rows, "charged": charges})

    def forecast(self, triggers: int) -> list[StageForecast]:
        """The calls for a dialogue of so many triggers, all of them kept, of which one is CRITICAL with two anchors."""
        if self.level == "none":
            return []
        samples, prefix = SAMPLES[self.level], 1_000
        fresh, planted = triggers * 2 * samples, triggers * len(PLANTED)
        swaps, tested = triggers + 2, 2 * fresh + 2 * samples
        # Name, role, calls, those of them in a row, tokens beyond the conversation, and of the answer.
        rows = [
            ("swap", "planner", swaps, 2, 700, prefix + 20),
            ("audit of swap", "auditor", swaps, 2, 450, 25),
            ("looking and bare", "assistant", tested, 2, 150, 180),
            ("verdicts", "judge", tested, 2, 850, 80),
            ("fresh", "tester", fresh, 1, 150, 180),
            ("verdicts of fresh", "judge", fresh, 1, 850, 80),
        ]
        matrix = [
            (KNOWING, "tester", triggers, 1, 250, 180),
            ("verdicts of planted", "judge", planted, 1, 850, 80),
            ("offers", "judge", triggers, 1, 700, 25),
        ]
        return [
            StageForecast(name, role, calls, prefix + further, completion, in_a_row=row, items=items)
            for items, stages in ((None, rows), (MATRIX_DIALOGUES, matrix if self.level == "full" else []))
            for name, role, calls, row, further, completion in stages
        ]


LOOKING = "looking"
"""How the stages begin by whose responses a trigger is kept."""


@dataclass(frozen=True)
class TriggerTest:
    """A trigger under test."""

    prover: Prover
    attempt: Attempt
    dialogue: MadeDialogue
    made: MadeTrigger
    style: str
    responses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By stage, in the order in which they came."""

    async def proved(self) -> MadeTrigger:
        """The trigger with its proof; a CRITICAL one may have become EMERGENT."""
        test, proof = self, await self.anchor_test()
        if proof.kept and self.made.rubric.type == "CRITICAL":
            test, proof = await self.leave_one_out(proof)
        if proof.kept and proof.swap:
            fresh = await test.arms(proof.swap, "tester", "fresh", test.prover.looking)
            decided = {text for stage, texts in test.responses.items() if stage.startswith(LOOKING) for text in texts}
            answers = [text for stage, texts in test.responses.items() if stage.startswith("fresh") for text in texts]
            proof = proof.model_copy(update={"fresh": fresh, "repeats": sum(text in decided for text in answers)})
        return test.made.model_copy(update={"proof": proof})

    async def anchor_test(self, name: str = "") -> TriggerProof:
        """What responses with all the rubric's anchors and without them show.

        `name` tells the stages of a second test from those of the first.
        """
        try:
            swap, audit = await self.swapped(self.made.rubric.anchors, f"swap{name}")
        except RuleError as error:
            reason = f"No version of the conversation without its facts could stand. {' '.join(error.reasons)}"
            return TriggerProof(swap=None, audit=None, looking=None, bare=None, kept=False, reason=reason)
        looking, bare = await all_of(
            self.arms(swap, "assistant", f"{arm}{name}", assistant)
            for arm, assistant in ((LOOKING, self.prover.looking), ("bare", self.prover.bare))
        )
        reason = weakness(looking)
        return TriggerProof(swap=swap, audit=audit, looking=looking, bare=bare, kept=not reason, reason=reason)

    async def leave_one_out(self, proof: TriggerProof) -> tuple["TriggerTest", TriggerProof]:
        """The test of a CRITICAL trigger, or of the EMERGENT one in its stead, and what it shows.

        Where responses pass with an anchor gone, not all are needed. Where one at most is, the trigger is tested afresh
        with a rubric for that one alone, or for the last where any one would do; else it is not kept.
        """

        def failed(reason: str, *reasons: str) -> tuple[TriggerTest, TriggerProof]:
            return self, proof.model_copy(update={"kept": False, "reason": " ".join([reason, *reasons])})

        try:
            grades = await self.leaving_out()
        except RuleError as error:
            return failed("No version without one of its facts alone could stand.", *error.reasons)
        anchors, proof = list(grades), proof.model_copy(update={"leave_one_out": grades})
        least = enough(SAMPLES[self.prover.level])
        spare = [
            anchor for anchor in anchors if sum(grade in (Grade.PASS, UNSCORED) for grade in grades[anchor]) >= least
        ]
        if not spare:
            return self, proof
        note = " or could not be scored" if any(UNSCORED in grades[anchor] for anchor in spare) else ""
        forced = f"Responses pass{note} without {' and without '.join(spare)}: not all its facts are needed."
        needed = [anchor for anchor in anchors if anchor not in spare]
        if len(needed) > 1:
            return failed(forced)
        alone = (needed or anchors)[-1]
        try:
            rubric, audit = await self.prover.rewriting(self.attempt, self.dialogue, self.made.turn, alone)
        except RuleError as error:
            return failed(forced, f"No rubric for {alone} alone could stand.", *error.reasons)
        narrowed = replace(self, made=self.made.model_copy(update={"rubric": rubric, "audit": audit}))
        again = await narrowed.anchor_test(f" for {alone} alone")
        if not again.kept:
            return failed(forced, f"With a rubric for {alone} alone:", again.reason)
        return narrowed, again.model_copy(update={"leave_one_out": grades, "replaced": self.made.rubric})

    async def leaving_out(self) -> dict[str, list[str]]:
        """Grades of responses with one anchor swapped alone, by that anchor, in the order in which they were disclosed.

        Raises `RuleError` where no version without one of them can stand.
        """

        async def without(anchor: str) -> list[str]:
            swap, _ = await self.swapped([anchor], f"swap without {anchor}", others_may_call=True)
            return await self.grades(swap.turns, "assistant", f"{LOOKING} without {anchor}", self.prover.looking)

        order = [item.anchor for item in self.dialogue.disclosures]
        anchors = sorted(self.made.rubric.anchors, key=order.index)
        return dict(zip(anchors, await all_of(map(without, anchors)), strict=True))

    async def swapped(
        self, names: Sequence[str], stage: str, *, others_may_call: bool = False
    ) -> tuple[Swap, SwapAudit]:
        """The conversation without the anchors of these ids, and the audit that passes it.

        Raises `RuleError` where no version keeps to the rules and passes.
        """
        original, turn, audits = self.dialogue.before(self.made.turn), self.made.turn, list[SwapAudit]()
        anchors = [self.dialogue.scenario.anchor(name) for name in names]
        facts = [anchor.fact for anchor in anchors]

        async def faults(answer: Any) -> Sequence[str]:
            if broken := misfits(original, anchors, answer.swap):
                return broken
            inputs = {"conversation": answer.swap.turns, "removed_facts": facts, "act": self.made.rubric.act}
            name = f"audit of {stage}"
            audit = (await self.attempt.ask("auditor", name, self.prover.auditing, turn=turn, **inputs)).audit
            audits.append(audit)
            return objections(audit, others_may_call)

        replacements = [Replacement.model_validate(anchor, from_attributes=True) for anchor in anchors]
        inputs = {"conversation": original, "replacements": replacements, "style": self.style}
        answer = await self.attempt.ask("planner", stage, self.prover.writing, faults, turn=turn, **inputs)
        return answer.swap, audits[-1]

    async def arms(self, swap: Swap, role: str, stage: str, assistant: Assistant) -> Sampled:
        """Grades of a role's responses with the anchors and without."""
        both = {"with": self.dialogue.before(self.made.turn), "without": swap.turns}
        grades = await all_of(
            self.grades(turns, role, f"{stage} {arm} anchors", assistant) for arm, turns in both.items()
        )
        return Sampled(with_anchors=grades[0], without_anchors=grades[1])

    async def grades(self, turns: Sequence[SwappedTurn], role: str, stage: str, assistant: Assistant) -> list[str]:
        """Grades of a role's responses to a conversation, whichever it is, as responses to the trigger."""
        count = SAMPLES[self.prover.level]
        answering = [self.attempt.asking(role, stage, self.made.turn) for _ in range(count)]
        judging = [self.attempt.asking("judge", f"verdict, {stage}", self.made.turn) for _ in range(count)]

        async def grade(answers: Asking, judges: Asking) -> str:
            try:
                response = await self.response(turns, assistant, answers)
                self.responses.setdefault(stage, []).append(response)
                return await self.grade(response, judges)
            except ContentError:
                return UNSCORED

        return await all_of(grade(*askings) for askings in zip(answering, judging, strict=True))

    async def response(self, turns: Sequence[SwappedTurn], assistant: Assistant, asking: Asking) -> str:
        """An assistant's response, under the system text of the dialogue."""
        view = AssistantView.of(conversation_of(turns), self.dialogue.scenario.system.strip() or None)
        return (await assistant.answer_by(asking, **view.inputs)).response

    async def grade(self, response: str, asking: Asking) -> str:
        """The grade of a response by the rubric, beside the conversation with the anchors."""
        turn = self.made.turn
        view = JudgeView(
            conversation=conversation_of(self.dialogue.before(turn)),
            turn=turn,
            rubric=self.made.rubric.criteria,
            system=self.dialogue.scenario.system.strip() or None,
        )
        return (await self.prover.judge.answer_by(asking, **view.inputs(response))).grade

    async def planted(self, name: str) -> str:
        """The grade of a planted assistant."""
        rubric, turn = self.made.rubric, self.made.turn
        judging = self.attempt.asking("judge", f"verdict, {name}", turn)
        try:
            if name != KNOWING:
                return await self.grade(planted_response(name, self.dialogue, self.made), judging)
            criteria = f"PASS: {rubric.pass_criteria}\n\nPARTIAL: {rubric.partial_criteria}\n\nFAIL: "
            assistant = Assistant(f"{prompt('know_rubric')}\n\n{criteria}{rubric.fail_criteria}")
            answering = self.attempt.asking("tester", name, turn)
            return await self.grade(await self.response(self.dialogue.before(turn), assistant, answering), judging)
        except ContentError:
            return UNSCORED

    async def charged(self) -> bool | None:
        """Whether the checklist of offers makes an unwanted one in the swap; None where nobody can say."""
        conversation, system = conversation_of(swap_of(self.made).turns), self.dialogue.scenario.system.strip() or None
        view = ControlView(conversation=conversation, turn=self.made.turn, system=system)
        response = planted_response(CHECKLIST, self.dialogue, self.made)
        try:
            asking = self.attempt.asking("judge", f"offers, {CHECKLIST}", self.made.turn)
            return bool((await self.prover.detector.look(view, response, asking)).unwanted)
        except ContentError:
            return None


def swap_of(made: MadeTrigger) -> Swap:
    """The swap by which a trigger was kept."""
    assert made.proof, "drafts have none"
    assert made.proof.swap, "what is kept has a swap"
    return made.proof.swap


def controls_of(made: MadeDialogue, dialogue: Dialogue) -> list[Dialogue]:
    """Dialogues of their own whose last turn is a control turn: the swaps by which triggers were kept.

    An initiative that is wanted at the trigger is unwanted there. Other anchors, disclosed before, may still stand in
    them, as they do before any control turn.

    Args:
        made: With its proof; drafts have no swaps.
        dialogue: The same as rows have it.
    """
    return [
        Dialogue(
            origin=dialogue.origin.model_copy(update={"dialogue": f"{dialogue.origin.dialogue}__swap{trigger.turn}"}),
            turns=conversation_of(swap_of(trigger).turns),
            triggers=(),
            system=dialogue.system,
        )
        for trigger in made.triggers
        if trigger.proof and trigger.proof.kept
    ]


def conversation_of(turns: Sequence[SwappedTurn]) -> tuple[Turn, ...]:
    """A conversation as programs and rows have it; its last turn awaits its response."""
    return tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in turns)
