"""Other judges on responses that exist. This is what `dspy-proact rejudge` does, as a value."""

from collections.abc import Sequence

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.jury import JudgePrompt, open_jury
from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.benchmarks.responses import COPIED, Responses
from dspy_proact.models import EMBEDDED, Gate, ModelSpec
from dspy_proact.programs import Assistant, JudgeArtefact
from dspy_proact.provenance import now, versions
from dspy_proact.runs import Identity, Manifest


class Rejudging(Execution):
    """Judges for responses that exist, in a run of its own that names its parent.

    Args:
        responses: What is judged; a parent that has grown since hands over what is new.
        judge: By its name, or with all that is said of it; several are a jury.
        judge_prompt: `official` words the judges' question as the installed official package does.
        judge_program: A compiled judge in place of ours; it says how many verdicts are asked for.
        gate: How calls are made; the usual way where None.

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
        manifest = Manifest(
            identity=Identity(
                benchmark=ProactBench.name,
                assistant=responses.assistant,
                judges=jury.identities,
                corpus=responses.corpus_sha256,
                parent=responses.parent,
            ),
            strata=tuple(ProactBench.strata),
            labels=tuple(ProactBench.labels),
            control_labels=tuple(ProactBench.control_labels),
            system_prompt=responses.system_prompt,
            learned_on=responses.learned_on,
            embedded=responses.embedded or any(model.embedded for model in jury.models),
            epochs=responses.epochs,
            judge_epochs=jury.votes,
            corpus=responses.corpus,
            assistant_price=COPIED,
            judge_prices=jury.prices,
            overrides={"assistant": responses.overrides, "judge": jury.overridden},
            backend=gate.backend,
            versions=versions("pydantic"),
            created=now(),
        )
        benchmark = ProactBench(responses.cases, Assistant(), None, jury.seats)
        super().__init__(
            benchmark,
            manifest,
            gate=gate,
            assistant=None,
            judges=jury.models,
            copied=responses.stages,
        )
        self.responses = responses
