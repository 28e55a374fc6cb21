"""One evaluation: a model, a judge and a corpus, checked before the first call, kept in a folder, resumed by the same.

This is what `dspy-proact eval` does, as a value.
"""

import asyncio
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.corpus import Corpus
from dspy_proact.errors import Interrupted
from dspy_proact.models import Backend, Gate, Model, open_model
from dspy_proact.programs import Assistant, Judge
from dspy_proact.runs import (
    CorpusRecord,
    Identity,
    Manifest,
    Observer,
    PricePerToken,
    RoleIdentity,
    Runner,
    RunWriter,
    orderly_interrupt,
    select_cases,
)
from dspy_proact.switch import Switch


@dataclass(frozen=True)
class Finished:
    """How an evaluation ended."""

    path: Path
    """The folder of the run."""
    stages: int
    """Responses and verdicts that this command got or failed to get; 0 when all was on disk already."""
    unscored: int
    """Of what this command asked for: tried and without a grade."""


class Evaluation:
    """A model under test, a judge and a corpus.

    Args:
        corpus: Its triggers are the cases.
        model: A litellm name, or `embedded` for the stand-in.
        judge: Likewise.
        model_api_base: Another endpoint than the provider's own.
        judge_api_base: Likewise.
        model_params: Decoding parameters that override the preset; None leaves one out.
        judge_params: Likewise.
        backend: `litellm` forces litellm's client.
        concurrency: Requests in flight, of both roles together.
        timeout: Seconds for one attempt.
        retries: Further attempts after a failure that may heal.

    Raises:
        UsageError: The models cannot be called as asked.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: str = "embedded",
        judge: str = "embedded",
        *,
        model_api_base: str | None = None,
        judge_api_base: str | None = None,
        model_params: Mapping[str, Any] | None = None,
        judge_params: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
    ):
        self.corpus, self.concurrency = corpus, concurrency
        self._gate = Gate(retries=retries, timeout=timeout)
        shared = {"gate": self._gate, "backend": backend, "connections": concurrency}
        self._assistant = open_model(model, "assistant", api_base=model_api_base, params=model_params, **shared)
        self._judge = open_model(judge, "judge", api_base=judge_api_base, params=judge_params, **shared)
        self.manifest = self._manifest(backend)

    @property
    def default_folder(self) -> Path:
        """`runs/<model>--<judge>--<8 hex of the identity>`."""
        identity = self.manifest.identity
        names = (folder_name(identity.assistant.model), folder_name(identity.judge.model))
        return Path("runs", "--".join((*names, identity.digest()[:8])))

    def run(
        self,
        out: str | Path | None = None,
        *,
        limit: int | None = None,
        phases: Collection[str] = (),
        epochs: int = 1,
        observer: Observer | None = None,
    ) -> Finished:
        """Do what has no result yet, and return when all of it has ended.

        Args:
            out: The folder; `default_folder` when None.
            limit: The most triggers, spread over scenarios and phases; None for all.
            phases: Only these; empty for all.
            epochs: How often each trigger is answered and graded.
            observer: Told of what happens.

        Raises:
            RunError: The folder cannot be used.
            Halt: The run ended early; what is on disk is kept, and the same call goes on.
        """
        try:
            folder = Path(out or self.default_folder)
            return asyncio.run(self._run(folder, limit, phases, epochs, observer or Observer()))
        except asyncio.CancelledError:
            raise Interrupted("interrupted twice: what was in flight is dropped") from None

    async def _run(
        self, out: Path, limit: int | None, phases: Collection[str], epochs: int, observer: Observer
    ) -> Finished:
        switch = self._gate.switch = Switch()
        benchmark = ProactBench(self.corpus, Assistant(), self._assistant.lm, Judge(), self._judge.lm)
        cases = select_cases(benchmark.cases(), limit, phases)
        manifest = self.manifest.model_copy(update={"epochs": epochs})
        with RunWriter(out, manifest) as folder, orderly_interrupt(switch, observer.interrupted):
            folder.add_cases(cases)
            runner = Runner(benchmark, folder, self._judge.name, switch, observer)
            try:
                await runner.run(cases, epochs, self.concurrency)
            finally:
                await self._assistant.aclose()
                await self._judge.aclose()
            return Finished(out, runner.stages, runner.unscored(cases, epochs))

    def _manifest(self, backend: Backend) -> Manifest:
        assistant, judge, corpus = self._assistant, self._judge, self.corpus
        return Manifest(
            identity=Identity(
                benchmark=ProactBench.name,
                assistant=_identity(assistant, Assistant().fingerprint()),
                judge=_identity(judge, Judge().fingerprint()),
                corpus=corpus.sha256,
            ),
            strata=tuple(ProactBench.strata),
            labels=tuple(ProactBench.labels),
            embedded=assistant.embedded or judge.embedded,
            epochs=1,
            corpus=CorpusRecord(
                name=corpus.name,
                revision=corpus.revision,
                dialogues=len(corpus.dialogues),
                triggers=corpus.trigger_count,
                ignored_fields=dict(corpus.ignored_fields),
            ),
            prices={model.role: PricePerToken.model_validate(model.price.model_dump()) for model in (assistant, judge)},
            backend=backend,
            versions={name: version(name) for name in ("dspy-proact", "dspy", "litellm", "pydantic")}
            | {"python": platform.python_version()},
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def folder_name(model: str) -> str:
    """A model's name as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip(".") or "_"


def _identity(model: Model, prompt: str) -> RoleIdentity:
    return RoleIdentity(model=model.name, prompt=prompt, decoding=dict(model.decoding), endpoint=model.endpoint)
