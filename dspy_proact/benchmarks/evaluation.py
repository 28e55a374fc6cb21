"""One evaluation: a model, its judges and a corpus. This is what `dspy-proact eval` does, as a value."""

from collections.abc import Sequence

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.jury import JudgePrompt, open_jury, overridden, role_identity
from dspy_proact.benchmarks.proactbench import ProactBench, cases_of, controls_of
from dspy_proact.corpus import Corpus
from dspy_proact.models import EMBEDDED, Gate, ModelSpec, open_model
from dspy_proact.programs import ASSISTANT, Assistant, JudgeArtefact
from dspy_proact.provenance import now, versions
from dspy_proact.runs import CorpusRecord, Identity, Manifest
from dspy_proact.views import dialogue_mark


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
        gate = gate or Gate()
        under_test = open_model(model, ASSISTANT, gate)
        jury = open_jury(judge, gate, prompt=judge_prompt, artefact=judge_program)
        program = assistant or Assistant()
        manifest = Manifest(
            identity=Identity(
                benchmark=ProactBench.name,
                assistant=role_identity(under_test, program.name, program.fingerprint()),
                judges=jury.identities,
                corpus=corpus.sha256,
            ),
            strata=tuple(ProactBench.strata),
            labels=tuple(ProactBench.labels),
            control_labels=tuple(ProactBench.control_labels),
            embedded=any(each.embedded for each in (under_test, *jury.models)),
            system_prompt=program.system_prompt or None,
            learned_on=sum(dialogue_mark(dialogue.turns) in program.learned_from for dialogue in corpus.dialogues),
            epochs=1,
            judge_epochs=jury.votes,
            corpus=corpus_record(corpus),
            assistant_price=under_test.price,
            judge_prices=jury.prices,
            overrides={"assistant": overridden(under_test), "judge": jury.overridden},
            backend=gate.backend,
            versions=versions("pydantic"),
            created=now(),
        )
        cases = (*cases_of(corpus), *controls_of(corpus))
        benchmark = ProactBench(cases, program, under_test.lm, jury.seats)
        super().__init__(benchmark, manifest, gate=gate, assistant=under_test, judges=jury.models)
        self.corpus = corpus


def corpus_record(corpus: Corpus) -> CorpusRecord:
    """The corpus as it was read."""
    return CorpusRecord(
        name=corpus.name,
        revision=corpus.revision,
        dialogues=len(corpus.dialogues),
        triggers=corpus.trigger_count,
        ignored_fields=dict(corpus.ignored_fields),
    )
