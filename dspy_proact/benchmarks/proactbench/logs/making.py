"""How a corpus is made of logs: a slot of the engine is one logged conversation, from its redaction to its triggers."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from dspy_proact.audit.testing import likeness_text
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief, beyond_stand_in, brief_of
from dspy_proact.benchmarks.proactbench.generation.rubrics import RUBRIC, RUBRIC_AUDIT
from dspy_proact.benchmarks.proactbench.logs.conversation import LogFile, read_privately
from dspy_proact.benchmarks.proactbench.logs.files import files_of
from dspy_proact.benchmarks.proactbench.logs.mining import Mining
from dspy_proact.benchmarks.proactbench.logs.roles import AFTER, FINDING, READING, VERDICT, programs
from dspy_proact.benchmarks.proactbench.logs.stand_in import reader
from dspy_proact.benchmarks.proactbench.logs.summary import LogCorpus, LogSummary
from dspy_proact.benchmarks.proactbench.logs.values import LoggedDialogue, MinedDialogue
from dspy_proact.benchmarks.proactbench.programs.judge import JUDGE, Judge
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.files.chats import chats_in
from dspy_proact.generation.attempt import Attempt
from dspy_proact.generation.maker import Made, Making, Proof, joint_fingerprint
from dspy_proact.models import Role
from dspy_proact.stats import Headline
from dspy_proact.types import Frozen

SAMPLE = "sample"
"""Names the bundled logs."""
ROLES = {
    **{name: Role(name, f"roles.{name}", "verdict", reader) for name in ("redactor", "finder", "planner", "auditor")},
    "judge": JUDGE,
}
"""By the name that a person gives."""
_CHARACTERS_A_TOKEN = 4
_TRIGGERS_A_TURN = 0.25
"""Assumed: of 12 turns of two conversations that were read by hand, 3 were triggers."""


class LogsSection(Frozen):
    """Which logs a corpus is made of."""

    digest: str
    """Of all conversations that can be used, in their order."""
    conversations: int


class LogBrief(CorpusBrief):
    """A brief, and the logs in which needs are looked for by it."""

    logs: LogsSection

    @property
    def own(self) -> CorpusBrief:
        """What a person wrote of it."""
        return CorpusBrief.model_validate(self.model_dump(exclude={"logs"}))


def making_of_logs(path: Path) -> Making:
    """How a corpus is made of a log, or of the bundled one; raises a `CorpusError` where none of it can be used."""
    bundled = files("dspy_proact.benchmarks.proactbench").joinpath("data/logs/chats.jsonl")
    log = LogFile.of(str(path), chats_in(Path(str(bundled)) if str(path) == SAMPLE else path))
    count = len(log.conversations)
    return Making(
        partial(_brief, log),
        partial(LogMaker, log),
        item="conversation",
        items="conversations",
        number=count,
        number_of_stand_in=count,
        most=count,
        beyond_stand_in=lambda brief: beyond_stand_in(brief.own),
    )


def _brief(log: LogFile, named: Any, language: str | None) -> LogBrief:
    brief = brief_of(named, language)
    logs = LogsSection(digest=log.digest, conversations=len(log.conversations))
    return LogBrief(**{**dict(brief), "logs": logs})


class LogMaker:
    """Finds the triggers of logged conversations, as `generation.Maker` asks for.

    Args:
        log: The conversations.
        brief: What is right and what is forbidden for the product.
        proof: With `none` the judge does not grade the logged responses; `light` and `full` are alike.

    Attributes:
        programs: By stage, the judge apart.
    """

    def __init__(self, log: LogFile, brief: LogBrief, proof: Proof = "full"):
        self.log, self.brief, self.programs = log, brief, programs()
        self.proof: Proof = proof
        self.judge = Judge()

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives."""
        return ROLES

    @property
    def usual(self) -> Mapping[str, str]:
        """None."""
        return {}

    async def begin(self, attempt: Attempt) -> LoggedDialogue:
        """The conversation, redacted."""
        product = f"{self.brief.product.name}\n{self.brief.product.text}"
        return await read_privately(attempt, self.programs[READING], self.log.conversations[attempt.slot - 1], product)

    def text(self, made: LoggedDialogue | MinedDialogue) -> str:
        """What no other conversation has: logs may be alike."""
        return likeness_text(self.key(made))

    async def finish(self, attempt: Attempt, begun: LoggedDialogue) -> MinedDialogue:
        """The conversation with its triggers."""
        judge = None if self.proof == "none" else self.judge
        return await Mining(attempt, self.programs, judge, self.brief, begun).mined()

    def key(self, item: LoggedDialogue | MinedDialogue) -> str:
        """Of the conversation."""
        return item.key if isinstance(item, LoggedDialogue) else item.dialogue.key

    def fingerprint(self) -> str:
        """Of what its roles are told."""
        return joint_fingerprint((*self.programs.values(), self.judge))

    def forecast(self) -> Sequence[StageForecast]:
        """The calls of one conversation of average length, in which a turn in four is a trigger."""
        count = len(self.log.conversations)
        turns = sum(len(one.read.turns) // 2 for one in self.log.conversations) / count
        tokens = sum(one.characters for one in self.log.conversations) // count // _CHARACTERS_A_TOKEN
        source = "\n".join((self.brief.product.text, *self.brief.product.rules))
        product, triggers = len(source) // _CHARACTERS_A_TOKEN, turns * _TRIGGERS_A_TURN
        half = tokens // 2  # of the conversation stands before a turn, on average
        # Stage, role, calls, those in a row, tokens of the conversation, and of the answer.
        rows = [
            (READING, "redactor", 1, 1, tokens, 80),
            (FINDING, "finder", turns, turns, half, 150),
            (AFTER, "auditor", triggers, 1, tokens, 60),
            (RUBRIC, "planner", triggers, 1, half, 200),
            (RUBRIC_AUDIT, "auditor", triggers, 1, half, 100),
        ]
        stages = [
            StageForecast(stage, role, calls, self._instruction(stage) + product + read, answer, in_a_row=row)
            for stage, role, calls, row, read, answer in rows
        ]
        graded = [StageForecast(VERDICT, "judge", triggers, 900 + half, 100, in_a_row=1)]
        return stages if self.proof == "none" else [*stages, *graded]

    def _instruction(self, stage: str) -> int:
        """Tokens of what a stage says to its model."""
        program = self.programs[stage]
        signature: Any = program.question.signature
        blank = program.messages(dict.fromkeys(signature.input_fields, ""))
        return sum(len(message["content"]) for message in blank) // _CHARACTERS_A_TOKEN

    def headline(self, made: Made) -> Headline:
        """What was overlooked, as the page says it."""
        return LogSummary(self._corpus(made)).headline

    def files(self, made: Made) -> Mapping[str, str]:
        """Rows, logged responses, what was taken out, audits, the datasheet and the page."""
        return files_of(self._corpus(made))

    def _corpus(self, made: Made) -> LogCorpus:
        prompts = {stage: program.fingerprint() for stage, program in self.programs.items()}
        return LogCorpus(self.brief.own, self.log, made, self.proof, prompts)
