"""An evaluation on ProactBench: its cases, who answers and who grades. What `eval` and `rejudge` do, as values."""

from collections.abc import Sequence

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.benchmarks.proactbench.corpus import Corpus
from dspy_proact.benchmarks.proactbench.jury import JudgePrompt, open_jury
from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, Assistant
from dspy_proact.benchmarks.proactbench.views import dialogue_mark
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.models import EMBEDDED, Gate, ModelSpec, open_model
from dspy_proact.programs.artefact import JudgeArtefact


class Evaluation(Execution):
    """A model under test, its judges and a corpus.

    Args:
        corpus: Its triggers are the cases.
        model: By its name, or with all that is said of it.
        judge: Likewise; several are a jury.
        assistant: The program under test; the bare chat where None.
        judge_prompt: `official` words the judges' question as the installed official package does.
        judge_program: A compiled judge in place of ours; it says how many verdicts are asked for.
        gate: How calls are made; the usual way where None.

    Raises:
        UsageError: The models cannot be called as asked.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: ModelSpec | str = EMBEDDED,
        judge: ModelSpec | str | Sequence[ModelSpec | str] = EMBEDDED,
        *,
        assistant: Assistant | None = None,
        judge_prompt: JudgePrompt = "default",
        judge_program: JudgeArtefact | None = None,
        gate: Gate | None = None,
    ):
        gate, program = gate or Gate(), assistant or Assistant()
        under_test = open_model(model, ASSISTANT, gate)
        jury = open_jury(judge, gate, prompt=judge_prompt, artefact=judge_program)
        answering = Participant(
            under_test,
            program.name,
            program.fingerprint(),
            system_prompt=program.system_prompt or None,
            card=program.card and program.card.told,
            learned_on=sum(dialogue_mark(dialogue.turns) in program.learned_from for dialogue in corpus.dialogues),
        )
        benchmark = ProactBench(case_set_of(corpus), program, under_test, jury)
        super().__init__(benchmark, answering, jury.participants, gate)


class Rejudging(Execution):
    """Judges for responses that exist, in a run of its own that names its parent.

    Args:
        responses: What is judged; a parent that has grown since hands over what is new.
        judge: As for an `Evaluation`, and all that follows.
        judge_prompt: Of the judges.
        judge_program: In place of it.
        gate: How calls are made.

    Raises:
        UsageError: The judges cannot be called as asked.
    """

    def __init__(
        self,
        responses: Responses,
        judge: ModelSpec | str | Sequence[ModelSpec | str] = EMBEDDED,
        *,
        judge_prompt: JudgePrompt = "default",
        judge_program: JudgeArtefact | None = None,
        gate: Gate | None = None,
    ):
        gate = gate or Gate()
        jury = open_jury(judge, gate, prompt=judge_prompt, artefact=judge_program)
        super().__init__(ProactBench(responses.case_set, Assistant(), None, jury), responses, jury.participants, gate)
