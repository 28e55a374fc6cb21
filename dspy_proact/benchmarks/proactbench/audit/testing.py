"""Tests by models of the triggers of any corpus of dialogues: a slot of the engine is one trigger.

A made corpus says on which facts its triggers rest. Of any other an auditor names them, each with its quote, and code
locates it; a trigger without one is not tested. Nothing is selected, so that the answers need no second sample: an
assistant that is told to look answers with the facts and without, each fact of a CRITICAL trigger is left out alone,
and planted assistants answer, as in the proof of a made corpus (`generation.proof`).
"""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from dspy_proact.audit.auditing import AuditedCorpus, ModelTests
from dspy_proact.audit.testing import TESTS, CaseAtSlot, likeness_text, tests_of
from dspy_proact.benchmarks.proactbench.audit.questions import LocateFacts, ReadMessage, RubricFact, fact_rules
from dspy_proact.benchmarks.proactbench.audit.rows import AuditedDialogue, AuditedRows
from dspy_proact.benchmarks.proactbench.audit.tested import TestedFact, TestedTrigger, checks_of, effect
from dspy_proact.benchmarks.proactbench.generation.made import (
    Disclosure,
    MadeDialogue,
    MadeTrigger,
    MadeTurn,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.making import ROLES
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED
from dspy_proact.benchmarks.proactbench.generation.proof import LOOKING, SAMPLES, Prover, TriggerTest, all_of
from dspy_proact.benchmarks.proactbench.generation.roles import AuditRubric
from dspy_proact.benchmarks.proactbench.generation.turn_rules import rubric_audit_rules
from dspy_proact.benchmarks.proactbench.generation.values import (
    DraftRubric,
    RubricAudit,
    Scenario,
    SwappedTurn,
    TurnAudit,
    UserMessage,
)
from dspy_proact.benchmarks.proactbench.types import Dialogue, Phase, Trigger
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.generation.maker import Made, Making, Proof, joint_fingerprint
from dspy_proact.kept.log import as_text
from dspy_proact.models import Role
from dspy_proact.programs.program import Question
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Case, seeded_order
from dspy_proact.stats import Headline

_NONE = "No fact that a pass needs could be located in what the user said."


def testing(corpus: AuditedCorpus) -> Making:
    """How the triggers of a corpus are tested; of several, those of a seeded order are taken first."""
    rows: AuditedRows = corpus.content
    number = len(rows.corpus.triggers)
    return tests_of(corpus, lambda proof: TriggerTests(rows, proof), ("trigger", "triggers"), number)


class TriggerTests:
    """Tests triggers, as `generation.Maker` asks for.

    Args:
        rows: Of the corpus.
        proof: With `full` three responses in an arm and planted assistants, with `light` one; `none` only audits.
    """

    def __init__(self, rows: AuditedRows, proof: Proof):
        self.proof: Proof = proof
        dialogues = {one.key: one for one in rows.dialogues}
        triggers = {
            key: (dialogues[dialogue.origin.dialogue], trigger)
            for key, (dialogue, trigger) in rows.corpus.triggers.items()
        }
        cases = [
            Case(key, of.dialogue.origin.scenario, trigger.rubric.phase, trigger.rubric)
            for key, (of, trigger) in triggers.items()
        ]
        self._triggers = [(case.key, *triggers[case.key]) for case in seeded_order(cases)]
        self.locating, self.reading = Question(LocateFacts, "system"), Question(ReadMessage, "message")
        self.auditing = Question(AuditRubric, "product", "system")
        self.prover = Prover(proof, _never_rewritten)

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives."""
        return {name: role for name, role in ROLES.items() if name != "user"}

    @property
    def usual(self) -> Mapping[str, str]:
        """Who knows the rubric is the assistant's model where nobody else is named."""
        return {"tester": "assistant"}

    async def begin(self, attempt: Attempt) -> CaseAtSlot:
        """The trigger of the slot."""
        return CaseAtSlot(key=self._triggers[attempt.slot - 1][0])

    def text(self, made: CaseAtSlot | TestedTrigger) -> str:
        """What no other trigger has."""
        return likeness_text(made.key)

    async def finish(self, attempt: Attempt, begun: CaseAtSlot) -> TestedTrigger:
        """What each test showed; one that could not be made has its reason."""
        _, of, trigger = self._triggers[attempt.slot - 1]
        origin = of.dialogue.origin
        tested = TestedTrigger(key=begun.key, persona=origin.persona, phase=trigger.rubric.phase)
        conversation = _awaiting(of.dialogue, trigger.turn)
        try:
            facts, act = await self._facts(attempt, of, trigger, conversation)
        except RuleError as error:
            return tested.model_copy(update={"reason": f"{_NONE} {' '.join(error.reasons)}"})
        if not facts:
            return tested.model_copy(update={"reason": _NONE})
        anchors = [fact.anchor(number) for number, fact in enumerate(facts, start=1)]
        criteria = trigger.rubric.model_dump(exclude={"phase"})
        rubric = DraftRubric(
            type=trigger.rubric.phase.value, anchors=[anchor.id for anchor in anchors], act=act, **criteria
        )
        located = [
            TestedFact(id=anchor.id, fact=fact.fact, turn=fact.turn, quote=fact.quote)
            for anchor, fact in zip(anchors, facts, strict=True)
        ]
        tested = tested.model_copy(update={"facts": tuple(located), "rubric": rubric})
        messages = {turn.turn: turn.user for turn in conversation}
        try:
            audited = await attempt.ask(
                "auditor",
                "audit of rubric",
                self.auditing,
                lambda answer: rubric_audit_rules(answer.audit, rubric, messages),
                turn=trigger.turn,
                product="",
                product_rules=[],
                forbidden=[],
                system=of.dialogue.system or "",
                anchors=anchors,
                conversation=conversation,
                rubric=rubric,
            )
            audit: RubricAudit = audited.audit
        except RuleError as error:
            return tested.model_copy(update={"reason": f"No audit of it could be used. {' '.join(error.reasons)}"})
        tested = tested.model_copy(update={"audit": audit})
        if self.proof == "none":
            return tested
        needs = await self._needs(attempt, trigger.turn, conversation[-1].user) if self.proof == "full" else []
        scenario = Scenario.model_construct(anchors=anchors, system=of.dialogue.system or "")
        made = MadeTrigger.model_construct(turn=trigger.turn, rubric=rubric, audit=audit, taken_up=False)
        disclosures = [Disclosure(anchor=one.id, turn=one.turn, quote=one.quote) for one in located]
        dialogue = _as_made(of.dialogue, scenario, made, sorted(disclosures, key=lambda one: one.turn), needs)
        return await self._tested(TriggerTest(self.prover, attempt, dialogue, made, ""), tested)

    async def _facts(
        self, attempt: Attempt, of: AuditedDialogue, trigger: Trigger, conversation: Sequence[SwappedTurn]
    ) -> tuple[Sequence[RubricFact], str]:
        """The facts that a pass needs and what earns it: as the corpus says, or as the auditor names them."""
        if (known := _planted_facts(of, trigger.turn)) and not fact_rules(*known, conversation):
            return known
        answer = await attempt.ask(
            "auditor",
            "facts of rubric",
            self.locating,
            lambda answer: fact_rules(answer.facts, answer.act, conversation),
            turn=trigger.turn,
            system=of.dialogue.system or "",
            conversation=conversation,
            rubric=trigger.rubric,
        )
        return answer.facts, answer.act

    async def _needs(self, attempt: Attempt, turn: int, message: str) -> list[str]:
        """What any fair response to a message must contain; where nobody can say, nothing."""
        try:
            answer = await attempt.ask("auditor", "needs of message", self.reading, turn=turn, message=message)
        except RuleError:
            return []
        return list(answer.reply_must_hold)

    async def _tested(self, test: TriggerTest, tested: TestedTrigger) -> TestedTrigger:
        """With the anchor test, with what leaving single facts out shows, and with planted assistants."""
        names = test.made.rubric.anchors
        try:
            swap, audit = await test.swapped(names, "swap")
        except RuleError as error:
            reason = f"No version of the conversation without its facts could stand. {' '.join(error.reasons)}"
            return tested.model_copy(update={"reason": reason})
        looking = await test.arms(swap, "assistant", LOOKING, self.prover.looking)
        tested = tested.model_copy(update={"swap": swap, "swap_audit": audit, "looking": looking})
        if tested.phase == Phase.CRITICAL and len(names) > 1:
            try:
                tested = tested.model_copy(update={"left_out": await test.leaving_out()})
            except RuleError as error:
                reason = f"No version without one of its facts alone could stand. {' '.join(error.reasons)}"
                tested = tested.model_copy(update={"reason": reason})
        if self.proof != "full":
            return tested
        proof = TriggerProof(swap=swap, audit=audit, looking=looking, bare=None, kept=True)
        made = test.made.model_copy(update={"proof": proof})
        planted = TriggerTest(self.prover, test.attempt, test.dialogue, made, "")
        grades = await all_of(planted.planted(name) for name in PLANTED)
        matrix = dict(zip(PLANTED, grades, strict=True))
        return tested.model_copy(update={"matrix": matrix, "charged": await planted.charged()})

    def key(self, item: TestedTrigger) -> str:
        """That of its case."""
        return item.key

    def fingerprint(self) -> str:
        """Of what its roles are told."""
        return joint_fingerprint((self.locating, self.reading, self.auditing, *self.prover.programs))

    def forecast(self) -> Sequence[StageForecast]:
        """The calls for a trigger, a third of which are CRITICAL with two facts; made corpora have their facts."""
        prefix = 1_000
        stages = [
            StageForecast("facts of rubric", "auditor", 1, prefix + 700, 150),
            StageForecast("audit of rubric", "auditor", 1, prefix + 900, 80),
        ]
        if self.proof == "none":
            return stages
        samples = SAMPLES[self.proof]
        swaps, answers = 1 + 2 / 3, 2 * samples + samples * 2 / 3
        stages += [
            StageForecast("swap", "planner", swaps, prefix + 700, prefix + 20, 2),
            StageForecast("audit of swap", "auditor", swaps, prefix + 450, 25, 2),
            StageForecast(LOOKING, "assistant", answers, prefix + 150, 180, 2),
            StageForecast("verdicts", "judge", answers, prefix + 850, 80, 2),
        ]
        if self.proof == "full":
            stages += [
                StageForecast("needs of message", "auditor", 1, 250, 40),
                StageForecast("knows the rubric", "tester", 1, prefix + 250, 180),
                StageForecast("verdicts of planted", "judge", len(PLANTED), prefix + 850, 80, 1),
                StageForecast("offers", "judge", 1, prefix + 700, 25),
            ]
        return stages

    def headline(self, made: Made) -> Headline:
        """What the tests show, a clause."""
        return Headline(self.tests(made, {}).shown or "Too few triggers could be tested.")

    def files(self, made: Made) -> Mapping[str, str]:
        """What was shown of each trigger."""
        return {TESTS: "".join(f"{as_text(kept.item)}\n" for kept in made.kept)}

    def tests(self, made: Made, names: Mapping[str, str]) -> ModelTests:
        """The checks that follow, and what they show; `names` are the models' by role."""
        triggers: list[TestedTrigger] = [kept.item for kept in made.kept]
        assistant, auditor = (names.get(role, f"the {role}") for role in ("assistant", "auditor"))
        difference = effect(triggers).difference
        shown, low, high = "", difference.low, difference.high
        if difference.value is not None and low is not None and high is not None and low > 0:
            points, ends = f"{100 * difference.value:.0f} points", f"95 % {100 * low:.0f} to {100 * high:.0f}"
            shown = f"responses told to look pass {points} more often with the disclosed facts than without ({ends})"
        graded, all_of_them = sum(bool(one.looking) for one in triggers), counted(len(self._triggers), "trigger")
        reach = (
            f"Models tested {len(triggers)} of {all_of_them}; {graded} could be answered with their facts and without"
        )
        others = ", and of the others it is not known what a pass depends on" if graded < len(self._triggers) else ""
        return ModelTests(tuple(checks_of(triggers, assistant, auditor)), shown, f"{reach}{others}.")


async def _never_rewritten(*_: object) -> tuple[DraftRubric, RubricAudit]:
    """An audit changes no rubric."""
    raise RuleError("rubric", ["An audit changes no rubric."])


def _planted_facts(of: AuditedDialogue, turn: int) -> tuple[Sequence[RubricFact], str] | None:
    """The facts that a made corpus names for a trigger; None where it does not, or not in full."""
    anchors = {anchor.id: anchor for anchor in of.anchors}
    try:
        facts = [
            RubricFact.model_validate({name: anchors[id_].model_dump().get(name) for name in RubricFact.model_fields})
            for id_ in of.needs[turn]
        ]
    except (KeyError, ValidationError):
        return None
    return facts, of.acts.get(turn, "")


def _awaiting(dialogue: Dialogue, turn: int) -> list[SwappedTurn]:
    """The conversation up to a turn, whose response is still to be written."""
    return [
        SwappedTurn(turn=number, user=one.user, assistant=one.assistant if number < turn else None)
        for number, one in enumerate(dialogue.turns[:turn], start=1)
    ]


def _as_made(
    dialogue: Dialogue, scenario: Scenario, made: MadeTrigger, disclosures: list[Disclosure], needs: list[str]
) -> MadeDialogue:
    """The dialogue as the tests of a made one take it; what only its making knows is left out and never read."""
    turns = [
        MadeTurn.model_construct(
            turn=number,
            message=UserMessage(message=one.user, quote=None),
            audit=TurnAudit.model_construct(reply_must_hold=needs if number == made.turn else []),
            reply=one.assistant or "",
        )
        for number, one in enumerate(dialogue.turns, start=1)
    ]
    return MadeDialogue.model_construct(
        persona=dialogue.origin.persona, scenario=scenario, turns=turns, triggers=[made], disclosures=disclosures
    )
