"""One evaluation: a model, its judges and a corpus. This is what `dspy-proact eval` does, as a value."""

from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.jury import JudgePrompt, open_jury, overridden, price_record, role_identity
from dspy_proact.benchmarks.proactbench import ProactBench, cases_of, controls_of
from dspy_proact.corpus import Corpus
from dspy_proact.models import Backend, Gate, Limits, Price, open_model
from dspy_proact.programs import Assistant, JudgeArtefact
from dspy_proact.provenance import now, versions
from dspy_proact.runs import CorpusRecord, Identity, Manifest
from dspy_proact.views import dialogue_mark


class Evaluation(Execution):
    """A model under test, its judges and a corpus.

    Args:
        corpus: Its triggers are the cases.
        model: A litellm name, or `embedded` for the stand-in.
        judge: Likewise; several are a jury.
        assistant: The program under test; the bare chat where None.
        judge_prompt: `official` words the judges' question as the installed official package does.
        judge_program: A compiled judge in place of ours; it says how many verdicts are asked for.
        model_api_base: Another endpoint than the provider's own.
        judge_api_base: Likewise, for every judge.
        model_params: Decoding parameters that override the preset; None leaves one out.
        judge_params: Likewise.
        backend: `litellm` forces litellm's client.
        concurrency: Requests in flight, of all roles together.
        timeout: Seconds for one attempt.
        retries: Further attempts after a failure that may heal.
        limits: The most that one run of this may spend.
        model_price: Instead of the list price.
        judge_price: Likewise, for every judge.

    Raises:
        UsageError: The models cannot be called as asked.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: str = "embedded",
        judge: str | Sequence[str] = "embedded",
        *,
        assistant: Assistant | None = None,
        judge_prompt: JudgePrompt = "default",
        judge_program: JudgeArtefact | None = None,
        model_api_base: str | None = None,
        judge_api_base: str | None = None,
        model_params: Mapping[str, Any] | None = None,
        judge_params: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
        limits: Limits | None = None,
        model_price: Price | None = None,
        judge_price: Price | None = None,
    ):
        gate = Gate(retries=retries, timeout=timeout, limits=limits)
        shared = {"backend": backend, "connections": concurrency}
        under_test = open_model(
            model, "assistant", gate, api_base=model_api_base, params=model_params, price=model_price, **shared
        )
        jury = open_jury(
            judge,
            gate,
            prompt=judge_prompt,
            artefact=judge_program,
            api_base=judge_api_base,
            params=judge_params,
            price=judge_price,
            **shared,
        )
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
            nouns=ProactBench.nouns,
            control_labels=tuple(ProactBench.control_labels),
            embedded=any(each.embedded for each in (under_test, *jury.models)),
            system_prompt=program.system_prompt or None,
            learned_on=sum(dialogue_mark(dialogue.turns) in program.learned_from for dialogue in corpus.dialogues),
            epochs=1,
            judge_epochs=jury.votes,
            corpus=corpus_record(corpus),
            assistant_price=price_record(under_test),
            judge_prices=jury.prices,
            overrides={"assistant": overridden(under_test), "judge": jury.overridden},
            backend=backend,
            versions=versions("pydantic"),
            created=now(),
        )
        cases = (*cases_of(corpus), *controls_of(corpus))
        benchmark = ProactBench(cases, program, under_test.lm, jury.seats)
        super().__init__(
            benchmark, manifest, gate=gate, assistant=under_test, judges=jury.models, concurrency=concurrency
        )
        self.corpus = corpus


def corpus_record(corpus: Corpus) -> CorpusRecord:
    """The corpus as it was read."""
    return CorpusRecord(
        name=corpus.name,
        revision=corpus.revision,
        rows=len(corpus.dialogues),
        cases=corpus.trigger_count,
        ignored_fields=dict(corpus.ignored_fields),
    )
