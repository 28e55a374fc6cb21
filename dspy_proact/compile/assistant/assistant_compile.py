"""`dspy-proact optimize assistant`, as a value: checked before the first call, kept in a folder, resumable."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dspy_proact.compile.assistant.carding import Made, make_card
from dspy_proact.compile.assistant.cast import Cast
from dspy_proact.compile.assistant.compiling import AssistantPlan, compile_assistant, dealt
from dspy_proact.compile.assistant.estimate import AssistantEstimate, estimate
from dspy_proact.compile.assistant.guards import require_measurable
from dspy_proact.compile.assistant.optimizers import ASSISTANT_OPTIMIZERS
from dspy_proact.compile.assistant.panel import Panel
from dspy_proact.compile.assistant.probe import Probe, TamedChat, probes_of
from dspy_proact.compile.compile import VERSIONED, Compile
from dspy_proact.compile.workshop import require_one_endpoint, who
from dspy_proact.corpus import Corpus
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, Gate, ModelSpec, Record, open_model
from dspy_proact.programs import (
    ASSISTANT,
    JUDGE,
    PROPOSER,
    REPORT_JUDGE,
    Assistant,
    AssistantArtefact,
    Judge,
    Reply,
    compiled_assistant,
    predictor_state,
    read_assistant,
    signature_hash,
)
from dspy_proact.provenance import now, versions


class AssistantCompile(Compile[AssistantArtefact]):
    """An assistant, a corpus, and how the one is tuned on the other.

    Args:
        corpus: Its triggers and control turns.
        model: By its name, or with all that is said of it.
        judge: Whose grades optimizers see.
        report_judge: Who tests out of fold; the tuning judge's model where None, and what is said of that one where
            both have one name and nothing else is said of this one.
        proposer: Who writes prompts; the tuning judge's model where None.
        plan: Optimizer, folds, phases and guards.
        system_prompt: What the assistant is told at the start; nothing where None.
        start: An artefact to go on from instead.
        gate: How calls are made; the usual way where None.

    Raises:
        UsageError: There is too little to learn from, the models cannot be called as asked, or the start is refused.
    """

    program = "assistant"

    def __init__(
        self,
        corpus: Corpus,
        model: ModelSpec | str = EMBEDDED,
        judge: ModelSpec | str = EMBEDDED,
        report_judge: ModelSpec | str | None = None,
        proposer: ModelSpec | str | None = None,
        *,
        plan: AssistantPlan,
        system_prompt: str | None = None,
        start: Path | None = None,
        gate: Gate | None = None,
    ):
        if plan.effort.optimizer not in ASSISTANT_OPTIMIZERS:
            raise UsageError(
                f"--optimizer {plan.effort.optimizer}: nobody has written the responses that it would show; "
                f"choose among {', '.join(ASSISTANT_OPTIMIZERS)}"
            )
        self.corpus, self.plan = corpus, plan
        self.probes = probes_of(corpus)
        dealt(self.probes, plan)
        require_measurable(plan.margins, self.probes, plan.phases)
        self._start = _started(self.probes, system_prompt, start)
        self._start.adapter = TamedChat()
        self._gate = gate or Gate()
        tuning = ModelSpec.of(judge)
        self._asked = (
            (ModelSpec.of(model), ASSISTANT),
            (tuning, JUDGE),
            (tuning if report_judge is None else ModelSpec.of(report_judge).beside(tuning), REPORT_JUDGE),
            (tuning if proposer is None else ModelSpec.of(proposer), PROPOSER),
        )
        require_one_endpoint(vars(self._open(None)).values())

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for two commands to be the same compile."""
        models, effort = self._cast, self.plan.effort
        return {
            "assistant": who(models.assistant),
            "judge": who(models.judge),
            "report_judge": who(models.report_judge),
            "proposer": who(models.proposer),
            "optimizer": {
                "name": effort.optimizer,
                "trials": effort.trials,
                "max_demos": effort.max_demos,
                "seed": effort.seed,
                "folds": self.plan.folds,
            },
            "phases": [str(phase) for phase in self.plan.phases],
            "guards": {str(guard): margin for guard, margin in sorted(self.plan.margins.items())},
            "corpus": self.corpus.sha256,
            "start": self._start.fingerprint(),
            "judging": [Judge().fingerprint(), Panel.detecting()],
        }

    @property
    def noted(self) -> dict[str, Any]:
        """Which corpus it is by name and revision, so that resuming does not move on to a newer one."""
        return {"revision": self.corpus.revision, "corpus_name": self.corpus.name}

    @property
    def same_judge(self) -> bool:
        """Whether one model tunes and reports."""
        return self._cast.judge.name == self._cast.report_judge.name

    def estimate(self) -> AssistantEstimate:
        """What `run` takes at most; no call is made and nothing is written."""
        return estimate(self._cast, self.probes, self.plan, self._start)

    def _compiled(self, record: Record, folder: Path, told: Callable[[str], None]) -> AssistantArtefact:
        models = self._open(record)
        compiled = compile_assistant(
            self._start,
            self.probes,
            self.plan,
            tuning=Panel(models.assistant.lm, models.judge.lm, Judge(ask_quote_again=False)),
            reporting=Panel(models.assistant.lm, models.report_judge.lm, Judge()),
            proposer_lm=models.proposer.lm,
            journals=folder,
            told=told,
        )
        return AssistantArtefact(
            signature=signature_hash(Reply),
            state=predictor_state(compiled.tuned.program.reply, Reply),
            card=make_card(self.probes, compiled, self.plan, self._made()),
        )

    def _open(self, record: Record | None) -> Cast:
        self._cast = Cast(*(open_model(spec, role, self._gate, record=record) for spec, role in self._asked))
        return self._cast

    def _made(self) -> Made:
        models, identity = self._cast, self.identity
        corpus = self.corpus
        return Made(
            assistant=identity["assistant"],
            judge=identity["judge"],
            report_judge=identity["report_judge"],
            proposer=models.proposer.name,
            optimizer=identity["optimizer"],
            start=identity["start"],
            corpus={
                "name": corpus.name,
                "revision": corpus.revision,
                "sha256": corpus.sha256,
                "dialogues": sorted({probe.dialogue for probe in self.probes}),
            },
            embedded=any(each.embedded for each in (models.assistant, models.judge, models.report_judge)),
            versions=versions(*VERSIONED),
            created=now(),
            price=models.assistant.price,
        )


def _started(probes: tuple[Probe, ...], system_prompt: str | None, start: Path | None) -> Assistant:
    """Whom a compile starts from; raises a `UsageError` where it has seen what is to be tested."""
    if start is None:
        return Assistant(system_prompt)
    if system_prompt is not None:
        raise UsageError("--start has a prompt of its own; leave --system-prompt out")
    artefact = read_assistant(start)
    seen = artefact.card.learned_from & {probe.dialogue for probe in probes}
    if seen:
        raise UsageError(
            f"{start}: was compiled on {len(seen)} of these conversations, so that no program that never saw them "
            "could be tested on them; start from one that was compiled on others, or leave --start out"
        )
    return compiled_assistant(artefact)
