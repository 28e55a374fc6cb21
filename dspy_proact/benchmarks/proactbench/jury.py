"""Who grades: one judge or several, each with its model under one program."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dspy_proact.benchmarks.judges import open_judges
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.proactbench.programs import JUDGE, Judge, OfficialJudge
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs.artefact import JudgeArtefact, compiled_judge
from dspy_proact.runs import consensus, cut_label

JudgePrompt = Literal["default", "official"]


@dataclass(frozen=True)
class Jury:
    """Judges with one program and a model each."""

    program: Judge
    models: Sequence[Model]
    artefact: JudgeArtefact | None = None
    """Of a compiled program."""

    @property
    def votes(self) -> int:
        """Verdicts of each on a response."""
        return self.artefact.votes if self.artefact else 1

    def grade(self, phase: Phase, given: Sequence[Grade]) -> Grade:
        """What one judge's verdicts on a response, at least one, come to: its program cuts their mean level.

        Without cuts it is the commonest; of several that tie, the worst.
        """
        cut, best_first = self.artefact and self.artefact.cuts.get(phase), tuple(Grade)
        return cut_label(given, best_first, (cut.partial, cut.full)) if cut else consensus(given, best_first)

    @property
    def participants(self) -> list[Participant]:
        """One a model, in their order."""
        name, prompt, compiled = self.program.name, self.program.fingerprint(), self.artefact
        cuts = {str(phase): (cut.partial, cut.full) for phase, cut in compiled.cuts.items()} if compiled else {}
        card = compiled and compiled.card.told
        return [Participant(model, name, prompt, cuts=cuts, votes=self.votes, card=card) for model in self.models]


def open_jury(
    judge: ModelSpec | str | Sequence[ModelSpec | str],
    gate: Gate,
    *,
    prompt: JudgePrompt = "default",
    artefact: JudgeArtefact | None = None,
) -> Jury:
    """Make judges callable; the program holds for each of them. Their order says nothing.

    Raises:
        UsageError: None is named, or one twice; the prompt is not to be had; a model cannot be called as asked.
    """
    models = open_judges(judge, JUDGE, gate)
    if prompt == "official" and any(model.embedded for model in models):
        raise UsageError("--judge-prompt official: the embedded stand-in reads our prompt only; name a --judge")
    if artefact and prompt != "default":
        raise UsageError("--judge-program has words of its own; leave --judge-prompt out")
    program = compiled_judge(artefact) if artefact else OfficialJudge() if prompt == "official" else Judge()
    return Jury(program, models, artefact)
