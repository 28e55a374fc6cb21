"""Other judges on responses that exist. This is what `dspy-proact rejudge` does, as a value."""

from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.jury import JudgePrompt, open_jury
from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.benchmarks.responses import COPIED, Responses
from dspy_proact.models import Backend, Gate, Limits, Price
from dspy_proact.programs import Assistant, JudgeArtefact
from dspy_proact.provenance import now, versions
from dspy_proact.runs import Identity, Manifest


class Rejudging(Execution):
    """Judges for responses that exist, in a run of its own that names its parent.

    Args:
        responses: What is judged; a parent that has grown since hands over what is new.
        judge: A litellm name, or `embedded` for the stand-in; several are a jury.
        judge_prompt: `official` words the judges' question as the installed official package does.
        judge_program: A compiled judge in place of ours; it says how many verdicts are asked for.
        judge_api_base: Another endpoint than the provider's own, for every judge.
        judge_params: Decoding parameters that override the preset; None leaves one out.
        backend: `litellm` forces litellm's client.
        concurrency: Requests in flight.
        timeout: Seconds for one attempt.
        retries: Further attempts after a failure that may heal.
        limits: The most that one run of this may spend.
        judge_price: Instead of the list price, for every judge.

    Raises:
        UsageError: The judges cannot be called as asked.
    """

    def __init__(
        self,
        responses: Responses,
        judge: str | Sequence[str] = "embedded",
        *,
        judge_prompt: JudgePrompt = "default",
        judge_program: JudgeArtefact | None = None,
        judge_api_base: str | None = None,
        judge_params: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
        limits: Limits | None = None,
        judge_price: Price | None = None,
    ):
        gate = Gate(retries=retries, timeout=timeout, limits=limits)
        jury = open_jury(
            judge,
            gate,
            prompt=judge_prompt,
            artefact=judge_program,
            api_base=judge_api_base,
            params=judge_params,
            price=judge_price,
            backend=backend,
            connections=concurrency,
        )
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
            nouns=ProactBench.nouns,
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
            backend=backend,
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
            concurrency=concurrency,
            copied=responses.stages,
        )
        self.responses = responses
