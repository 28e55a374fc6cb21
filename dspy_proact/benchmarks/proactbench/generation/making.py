"""How ProactBench makes a corpus: what a slot is about, and a dialogue from its scenario to its proof."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import dspy

from dspy_proact.benchmarks.proactbench.corpus.personas import read_personas
from dspy_proact.benchmarks.proactbench.embedded_generation import tester, writer
from dspy_proact.benchmarks.proactbench.generation import plan_rules
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief, beyond_stand_in, brief_of
from dspy_proact.benchmarks.proactbench.generation.dialogue import Play, dialogue_rules
from dspy_proact.benchmarks.proactbench.generation.files import corpus_of, files_of
from dspy_proact.benchmarks.proactbench.generation.made import MadeCorpus, MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.proof import MATRIX_DIALOGUES, Prover
from dspy_proact.benchmarks.proactbench.generation.roles import programs
from dspy_proact.benchmarks.proactbench.generation.rubrics import RUBRIC, RUBRIC_AUDIT, Rubrics
from dspy_proact.benchmarks.proactbench.generation.styles import Style, styles_of
from dspy_proact.benchmarks.proactbench.generation.values import Scenario, Step
from dspy_proact.benchmarks.proactbench.programs.assistant import ASSISTANT
from dspy_proact.benchmarks.proactbench.programs.drafting import drafted
from dspy_proact.benchmarks.proactbench.programs.judge import JUDGE
from dspy_proact.benchmarks.proactbench.report.made_summary import MadeSummary
from dspy_proact.evaluation.benchmark import lazily
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.files.personas import Persona
from dspy_proact.generation.attempt import Attempt, RuleError, cycled, rollout_of
from dspy_proact.generation.maker import LogMaking, Made, Making, Proof, joint_fingerprint
from dspy_proact.models import Role
from dspy_proact.programs.program import Question
from dspy_proact.stats import Headline

_LOGS = "dspy_proact.benchmarks.proactbench.logs"
_ALPHABET = "ABCDEFGHIJKLMNOPRSTVWYZ"
_STAGES = {
    "scenario": ("planner", "item", 300, 1100),
    "audit of scenario": ("auditor", "item", 1000, 100),
    "blueprint": ("planner", "item", 1000, 600),
    "audit of blueprint": ("auditor", "item", 1700, 50),
    "plan": ("planner", "plan", 2000, 80),
    RUBRIC: ("planner", "trigger", 1800, 180),
    "message": ("user", "turn", 1100, 50),
    "audit of message": ("auditor", "turn", 1600, 100),
    RUBRIC_AUDIT: ("auditor", "trigger", 1700, 80),
    "reply": ("assistant", "turn", 1100, 250),
    "audit of reply": ("auditor", "turn", 1600, 40),
}
"""By stage: who is asked, how often, and tokens of the inputs, without the product's text, and of the answer.

Tokens are between those of two dialogues that were answered by hand and those of the stand-in with responses of 1,000
characters (`eval/generation_speed.py`).
"""
_TRIGGERS = 3
"""Of a dialogue: the published corpus has 3.2, and the rules want three or more."""
_CHARACTERS_A_TOKEN = 4
ROLES = {
    "planner": Role("planner", "roles.planner", "verdict", writer),
    "user": Role("user", "roles.user", "verdict", writer),
    "assistant": ASSISTANT,
    "auditor": Role("auditor", "roles.auditor", "verdict", writer),
    "judge": JUDGE,
    "tester": Role("tester", "roles.tester", "response", tester),
}
"""By the name that a person gives."""
_NAMES = 4
"""Initials that a scenario is given."""
_SHORTEST = 8
"""Turns of the shortest dialogue that is planned."""


@dataclass(frozen=True)
class SlotSetting:
    """What follows from seed, slot and attempt."""

    persona: Persona
    style: Style
    domain: str
    turns: int
    """At most."""
    initials: str
    """Of given names, which a model would repeat from dialogue to dialogue."""


class ProactMaker:
    """Makes the dialogues of a brief, as `generation.Maker` asks for.

    Args:
        brief: What they are made from.
        proof: How far it is proved that they measure something.

    Attributes:
        programs: Of the making, by stage.
    """

    def __init__(self, brief: CorpusBrief, proof: Proof = "full"):
        self.brief, self.programs = brief, programs()
        self.proof: Proof = proof
        self.prover = Prover(proof, self._rewritten)
        self.source = "\n".join((brief.product.text, *brief.product.rules))

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives."""
        return ROLES

    @property
    def usual(self) -> Mapping[str, str]:
        """Fresh answers are the assistant's where nobody else is named."""
        return {"tester": "assistant"}

    @cached_property
    def personas(self) -> Sequence[Persona]:
        """Those of the brief."""
        return read_personas(self.brief.users.personas)

    def setting(self, seed: int, slot: int, attempt: int = 1) -> SlotSetting:
        """What an attempt at a slot is about, both counted from 1: a further one has other names."""
        parts = (seed, slot, attempt, "initial")
        letters = [_ALPHABET[rollout_of(*parts, index) % len(_ALPHABET)] for index in range(_NAMES)]
        return SlotSetting(
            cycled(self.personas, seed, slot, "persona"),
            cycled(styles_of(self.brief.dialogue.styles), seed, slot, "style"),
            cycled(self.brief.plant.domains, seed, slot, "domain"),
            cycled(range(_SHORTEST, self.brief.dialogue.turns + 1), seed, slot, "turns"),
            ", ".join(letters),
        )

    async def begin(self, attempt: Attempt) -> Scenario:
        """The scenario, audited."""
        return await self._scenario(attempt, "")

    def text(self, made: Scenario | MadeDialogue) -> str:
        """What likeness is seen by: what the user comes for, and what is planted."""
        scenario = made if isinstance(made, Scenario) else made.scenario
        facts = (f"{anchor.fact} {anchor.consequence}" for anchor in scenario.anchors)
        return "\n".join((scenario.request, scenario.hidden_goal, *facts))

    async def finish(self, attempt: Attempt, begun: Scenario) -> MadeDialogue:
        """The dialogue, proved as far as asked for."""

        async def scenario(reason: str) -> Scenario:
            return await self._scenario(attempt, reason) if reason else begun

        setting = self.setting(attempt.seed, attempt.slot, attempt.number)
        chosen, steps = await attempt.mended(scenario, partial(self._blueprint, attempt, setting))
        play = Play(Rubrics(attempt, self.programs, self.brief, chosen), setting.style, steps)
        await play.played()
        dialogue = MadeDialogue(
            persona=setting.persona.key,
            persona_text=setting.persona.text,
            domain=setting.domain,
            language=self.brief.dialogue.language,
            style=setting.style.number or None,
            scenario=chosen,
            steps=steps,
            turns=play.turns,
            triggers=play.triggers,
            lost=play.lost,
            notes=plan_rules.blueprint_notes(steps, chosen),
            disclosures=play.disclosures,
            chain=play.chain,
        )
        if reasons := dialogue_rules(dialogue):
            raise RuleError("dialogue", reasons)
        matrix = self.proof == "full" and attempt.slot <= MATRIX_DIALOGUES
        return await self.prover.proved(attempt, dialogue, style=setting.style.text, matrix=matrix)

    def key(self, item: MadeDialogue) -> str:
        """The id of a dialogue: the end of its hash chain."""
        return f"{item.persona[:8]}-{item.chain[-1].sha256[:16]}"

    def fingerprint(self) -> str:
        """Of what its roles are told."""
        return joint_fingerprint((*self.programs.values(), *self.prover.programs))

    async def _scenario(self, attempt: Attempt, reason: str) -> Scenario:
        setting, never = self.setting(attempt.seed, attempt.slot, attempt.number), self.brief.never.offers
        product = {"product": self.brief.product.text, "product_rules": self.brief.product.rules, "never": never}

        def complete(scenario: Scenario) -> Scenario:
            return scenario.model_copy(update={"forbidden": list(dict.fromkeys([*never, *scenario.forbidden]))})

        async def faults(answer: Any) -> Sequence[str]:
            scenario = complete(answer.scenario)
            if broken := plan_rules.scenario_rules(scenario, self.source, setting.initials, setting.persona.text):
                return broken
            audited = await attempt.ask(
                "auditor",
                "audit of scenario",
                self.programs["audit of scenario"],
                lambda answer: plan_rules.scenario_audit_rules(answer.audit, scenario, self.source),
                **product,
                scenario=scenario,
            )
            return plan_rules.scenario_findings(audited.audit)

        answer = await attempt.ask(
            "planner",
            "scenario",
            self.programs["scenario"],
            faults,
            reason=reason,
            **product,
            who=self.brief.users.who,
            persona=setting.persona.text,
            may_plant=self.brief.plant.may,
            domain=setting.domain,
            initials=setting.initials,
            language=self.brief.dialogue.language,
        )
        return complete(answer.scenario)

    async def _blueprint(
        self, attempt: Attempt, setting: SlotSetting, scenario: Scenario
    ) -> tuple[Scenario, list[Step]]:
        async def faults(answer: Any) -> Sequence[str]:
            steps = answer.steps
            if broken := plan_rules.blueprint_rules(steps, scenario, setting.turns):
                return broken
            audited = await attempt.ask(
                "auditor",
                "audit of blueprint",
                self.programs["audit of blueprint"],
                lambda answer: plan_rules.blueprint_audit_rules(answer.audit, steps),
                product=self.brief.product.text,
                product_rules=self.brief.product.rules,
                scenario=scenario,
                steps=steps,
            )
            return plan_rules.blueprint_findings(audited.audit)

        program, turns = self.programs["blueprint"], setting.turns
        answer = await attempt.ask("planner", "blueprint", program, faults, scenario=scenario, turns=turns)
        return scenario, answer.steps

    async def _rewritten(self, attempt: Attempt, dialogue: MadeDialogue, turn: int, name: str) -> Any:
        rubrics = Rubrics(attempt, self.programs, self.brief, dialogue.scenario)
        return await rubrics.for_one(dialogue, turn, name)

    def forecast(self) -> Sequence[StageForecast]:
        """The calls of one dialogue, in which three turns are triggers."""
        product, turns = len(self.source) // _CHARACTERS_A_TOKEN, (_SHORTEST + self.brief.dialogue.turns) / 2
        stages = list[StageForecast]()
        # Plans are made at triggers, and at the turn after one.
        counts = {"item": 1, "trigger": _TRIGGERS, "plan": 2 * _TRIGGERS - 1, "turn": turns}
        for stage, (role, unit, inputs, completion) in _STAGES.items():
            prompt, calls = inputs, counts[unit]
            if program := self.programs.get(stage):
                blank = program.messages(dict.fromkeys(_inputs(program), ""))
                prompt += sum(len(message["content"]) for message in blank) // _CHARACTERS_A_TOKEN
                prompt += product if "product" in _inputs(program) else 0
            in_a_row = 0 if stage == RUBRIC_AUDIT else calls  # beside the audit of the message
            stages.append(StageForecast(stage, role, calls, prompt, completion, in_a_row))
        return [*stages, *self.prover.forecast(_TRIGGERS)]

    def files(self, made: Made) -> Mapping[str, str]:
        """Rows of dialogues and of control turns, audits, the datasheet and the page."""
        return files_of(self._corpus(made))

    def headline(self, made: Made) -> Headline:
        """What was shown, as the page says it."""
        return MadeSummary(self._corpus(made)).headline

    def _corpus(self, made: Made) -> MadeCorpus:
        prompts = {stage: program.fingerprint() for stage, program in self.programs.items()}
        return corpus_of(self.brief, made, self.proof, prompts, self.key)


def making() -> Making:
    """How corpora of ProactBench are made."""
    return Making(
        brief_of,
        ProactMaker,
        ROLES["planner"],
        drafted,
        item="dialogue",
        items="dialogues",
        logs=LogMaking(lazily(f"{_LOGS}.making", "making_of_logs"), lazily(f"{_LOGS}.publishing", "publishing")),
        publishing=lazily("dspy_proact.benchmarks.proactbench.report.publishing", "publishing"),
        beyond_stand_in=beyond_stand_in,
    )


def _inputs(program: Question) -> Sequence[str]:
    return list(cast("type[dspy.Signature]", program.question.signature).input_fields)
