"""`dspy-proact optimize assistant`, as a value."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.benchmark import (
    ASSUMED_RESPONSE,
    ASSUMED_WORDS,
    RESPONSE_TOKENS,
    VERDICT_TOKENS,
)
from dspy_proact.benchmarks.proactbench.compile.assistant.card import make_card
from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examiner
from dspy_proact.benchmarks.proactbench.compile.assistant.guards import Guard, require_measurable
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import (
    Probe,
    TamedChat,
    controls_among,
    of_phases,
    probes_of,
)
from dspy_proact.benchmarks.proactbench.compile.assistant.task import AssistantTask, folds_of
from dspy_proact.benchmarks.proactbench.corpus import Corpus
from dspy_proact.benchmarks.proactbench.programs import (
    ASSISTANT,
    JUDGE,
    REPORT_JUDGE,
    Assistant,
    Judge,
    OfferDetector,
    Reply,
)
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.benchmarks.proactbench.views import AssistantView, JudgeView
from dspy_proact.compile.compile import Compile, require_unseen
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.folds import split
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.named import two_judges
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import OPTIMIZERS, DataSource, Optimizer, Provenance, Recipe
from dspy_proact.programs.artefact import (
    AssistantArtefact,
    compiled_assistant,
    predictor_state,
    read_assistant,
    signature_hash,
)

ASSISTANT_OPTIMIZERS: tuple[Optimizer, ...] = tuple(name for name in OPTIMIZERS if name != "labeled")
"""Labelled few-shot is none of them: nobody has written the responses that it would show."""


class AssistantCompile(Compile[AssistantArtefact]):
    """An assistant, a corpus, and how the one is tuned on the other.

    Args:
        corpus: Its triggers and control turns.
        model: Under the assistant.
        judge: Whose grades optimizers see.
        report_judge: Who tests out of fold; with what is said of the tuning judge where it is the same model.
        proposer: Who writes prompts; the tuning judge where None.
        recipe: Optimizer, folds and seed.
        phases: Whose triggers it is tuned on.
        margins: Of the guards that are asked for.
        system_prompt: What the assistant is told at the start; nothing where None.
        start: An artefact to go on from instead.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: There is too little to learn from, the models cannot be called as asked, or the start is refused.
    """

    program = "assistant"

    def __init__(
        self,
        corpus: Corpus,
        model: ModelSpec | str = "embedded",
        judge: ModelSpec | str = "embedded",
        report_judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        recipe: Recipe | None = None,
        phases: Sequence[Phase] = (Phase.RECOVERY,),
        margins: Mapping[Guard, float] | None = None,
        system_prompt: str | None = None,
        start: Path | None = None,
        gate: Gate | None = None,
    ):
        recipe = recipe or Recipe()
        if recipe.optimizer not in ASSISTANT_OPTIMIZERS:
            raise UsageError(
                f"--optimizer {recipe.optimizer}: nobody has written the responses that it would show; "
                f"choose among {', '.join(ASSISTANT_OPTIMIZERS)}"
            )
        self.corpus, self.phases, self.margins = corpus, tuple(phases), dict(margins or {})
        self.probes = probes_of(corpus)
        folds_of(self.probes, self.phases, recipe)
        require_measurable(self.margins, self.probes, self.phases)
        self._started = _started(self.probes, system_prompt, start)
        self._started.adapter = TamedChat()
        models = two_judges((model, ASSISTANT), (judge, JUDGE), (report_judge, REPORT_JUDGE), proposer)
        super().__init__(models, recipe, gate)

    @property
    def data(self) -> DataSource:
        """The corpus."""
        corpus = self.corpus
        dialogues = tuple(sorted({probe.dialogue for probe in self.probes}))
        return DataSource(name=corpus.name, sha256=corpus.sha256, revision=corpus.revision, dialogues=dialogues)

    @property
    def start(self) -> str:
        """Of what the start says."""
        return self._started.fingerprint()

    @property
    def settings(self) -> dict[str, Any]:
        """Phases and guards, and the words of those who judge."""
        return {
            "phases": [str(phase) for phase in self.phases],
            "guards": {str(guard): margin for guard, margin in sorted(self.margins.items())},
            "judging": [Judge().fingerprint(), OfferDetector().fingerprint()],
        }

    def task(self, models: Mapping[str, Model]) -> AssistantTask:
        """The assistant, tuned by one judge and tested by another."""
        answering, width = models["assistant"].lm, self._gate.concurrency
        return AssistantTask(
            self._started,
            self.probes,
            self.recipe,
            self.phases,
            self.margins,
            tuning=Examiner(answering, models["judge"].lm, Judge(ask_quote_again=False), width),
            reporting=Examiner(answering, models["report_judge"].lm, Judge(), width),
            proposer_lm=models["proposer"].lm,
        )

    def forecast(self) -> Forecast:
        """What `run` takes at most, repairs and second questions apart; no call is made and nothing is written."""
        folds = folds_of(self.probes, self.phases, self.recipe)
        tuning = sum(map(self._tuned_at_most, [*(fold.train for fold in folds), self.probes]))
        reporting = 2 * len(self.probes)
        answering, proposer = self.models["assistant"], self.models["proposer"]

        def grading(judge: Model, calls: int) -> RoleForecast:
            def prompt() -> float:
                return mean_tokens(judge, [_graded(probe) for probe in self.probes])

            return RoleForecast(calls, prompt, VERDICT_TOKENS[1], judge.price)

        roles = {
            "assistant": RoleForecast(tuning + reporting, self._prompt_tokens, RESPONSE_TOKENS[1], answering.price),
            "judge": grading(self.models["judge"], tuning),
            "report_judge": grading(self.models["report_judge"], reporting),
            "proposer": RoleForecast.of_proposer(proposer, self.recipe),
        }
        chosen = of_phases(self.probes, self.phases)
        return Forecast(roles, self._gate.concurrency, len(chosen), len({probe.scenario for probe in chosen}))

    def artefact(self, task: AssistantTask, compiled: Compiled[Any, Any, Any], made: Provenance) -> AssistantArtefact:
        """The program compiled on everything, and its card."""
        return AssistantArtefact(
            signature=signature_hash(Reply),
            state=predictor_state(compiled.tuned.reply, Reply),
            card=make_card(task, compiled, made, self.models["assistant"].price),
        )

    def _prompt_tokens(self) -> float:
        """Of a prompt of the assistant, with as many demos as it may get."""
        views = [AssistantView.of(probe.conversation) for probe in self.probes]
        bare = mean_tokens(self.models["assistant"], [self._started.messages(view) for view in views])
        return bare + self.recipe.max_demos * (bare + ASSUMED_WORDS)  # a demo is a conversation and its response

    def _tuned_at_most(self, train: Sequence[Probe]) -> int:
        """Responses that an optimizer and the guards ask for at most on one training set."""
        chosen = of_phases(train, self.phases)
        learn, compare = (len(part) for part in split(chosen, self.recipe.seed))
        controls = len(controls_among(train))
        others = len(of_phases(train, [phase for phase in Phase if phase not in self.phases]))
        looked_at = {"offers": controls, "length": len(chosen), "tokens": len(chosen), "phases": others}
        if "length" in self.margins:
            looked_at["tokens"] = 0  # they look at the same
        guarded = guarded_at_most(self.recipe, sum(looked_at[guard] for guard in self.margins))
        # A search looks at control turns in every trial, and asks a teacher beside the student.
        searched = self.recipe.trials * controls + learn if self.recipe.optimizer == "search" else 0
        return answers_at_most(self.recipe, learn, compare) + searched + guarded


def _graded(probe: Probe) -> list[dict[str, str]]:
    if isinstance(probe.view, JudgeView):
        return Judge().messages(probe.view, ASSUMED_RESPONSE)
    return OfferDetector().messages(probe.view, ASSUMED_RESPONSE)


def _started(probes: tuple[Probe, ...], system_prompt: str | None, start: Path | None) -> Assistant:
    """Whom a compile starts from; raises a `UsageError` where it has seen what is to be tested."""
    if start is None:
        return Assistant(system_prompt)
    if system_prompt is not None:
        raise UsageError("--start has a prompt of its own; leave --system-prompt out")
    artefact = read_assistant(start)
    require_unseen(start, artefact.card, {probe.dialogue for probe in probes}, "these conversations")
    return compiled_assistant(artefact)
