"""One evaluation: a model, a judge and a corpus, checked before the first call, kept in a folder, resumed by the same.

This is what `dspy-proact eval` does, as a value.
"""

import asyncio
import platform
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import starmap
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.plan import ASSUMED_RESPONSE, RESPONSE_TOKENS, VERDICT_TOKENS, Plan, plan_role
from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.corpus import Corpus
from dspy_proact.errors import Interrupted, UsageError
from dspy_proact.models import Backend, Gate, Limits, Model, Price, open_model
from dspy_proact.programs import Assistant, Judge
from dspy_proact.runs import (
    Case,
    CorpusRecord,
    Event,
    Identity,
    Ledger,
    Manifest,
    Observer,
    PricePerToken,
    RoleIdentity,
    RunFolder,
    Runner,
    RunWriter,
    orderly_interrupt,
    select_cases,
)
from dspy_proact.switch import Switch
from dspy_proact.types import Response


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
        limits: The most that one run of this may spend.
        model_price: Instead of the list price.
        judge_price: Likewise.

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
        limits: Limits | None = None,
        model_price: Price | None = None,
        judge_price: Price | None = None,
    ):
        self.corpus, self.concurrency = corpus, concurrency
        self._gate = Gate(retries=retries, timeout=timeout, limits=limits)
        shared = {"gate": self._gate, "backend": backend, "connections": concurrency}
        self._assistant = open_model(
            model, "assistant", api_base=model_api_base, params=model_params, price=model_price, **shared
        )
        self._judge = open_model(
            judge, "judge", api_base=judge_api_base, params=judge_params, price=judge_price, **shared
        )
        self._benchmark = ProactBench(corpus, Assistant(), self._assistant.lm, Judge(), self._judge.lm)
        self.manifest = self._manifest(backend)

    @property
    def limits(self) -> Limits:
        """The most that one run of this may spend."""
        return self._gate.limits

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
        retry_unscored: bool = False,
        observer: Observer | None = None,
    ) -> Finished:
        """Do what has no result yet, and return when all of it has ended.

        Args:
            out: The folder; `default_folder` when None.
            limit: The most triggers, spread over scenarios and phases; None for all.
            phases: Only these; empty for all.
            epochs: How often each trigger is answered and graded.
            retry_unscored: Try again also what failed for its content, which the report counts.
            observer: Told of what happens.

        Raises:
            UsageError: There is nothing to do with this limit, these phases or epochs.
            RunError: The folder cannot be used.
            Halt: The run ended early; what is on disk is kept, and the same call goes on.
        """
        try:
            folder = Path(out or self.default_folder)
            cases = self._selected(limit, phases, epochs)
            return asyncio.run(self._run(folder, cases, epochs, retry_unscored, observer or Observer()))
        except asyncio.CancelledError:
            raise Interrupted("interrupted twice: what was in flight is dropped") from None

    def plan(
        self,
        out: str | Path | None = None,
        *,
        limit: int | None = None,
        phases: Collection[str] = (),
        epochs: int = 1,
        retry_unscored: bool = False,
    ) -> Plan:
        """What `run` would do with the same arguments; no call is made and nothing is written."""
        folder = RunFolder(out or self.default_folder)
        if folder.exists:
            folder.require(self.manifest.identity)
        ledger = Ledger(folder.events() if folder.exists else (), self._judge.name, retry_unscored)
        work = ledger.open_work(self._selected(limit, phases, epochs), epochs)
        to_answer = [each.case for each in work if ledger.is_open(each, "response")]
        to_grade = [(each.case, self._kept(ledger.result(each, "response"))) for each in work]
        assistant = plan_role(self._assistant, map(self._benchmark.asked, to_answer), RESPONSE_TOKENS)
        judge = plan_role(self._judge, starmap(self._benchmark.asked_to_grade, to_grade), VERDICT_TOKENS)
        return Plan.of(assistant, judge, self.concurrency)

    def _selected(self, limit: int | None, phases: Collection[str], epochs: int) -> list[Case]:
        wrong = [phase for phase in phases if phase not in self._benchmark.strata]
        if wrong or epochs < 1 or (limit is not None and limit < 1):
            known = ", ".join(self._benchmark.strata)
            raise UsageError(f"nothing to do: limit and epochs must be 1 or more, and phases among {known}")
        return select_cases(self._benchmark.cases(), limit, phases)

    async def _run(
        self, out: Path, cases: Sequence[Case], epochs: int, retry_unscored: bool, observer: Observer
    ) -> Finished:
        switch = Switch()
        self._gate.open(switch)
        manifest = self.manifest.model_copy(update={"epochs": epochs})
        with RunWriter(out, manifest) as folder, orderly_interrupt(switch, observer.interrupted):
            folder.add_cases(cases)
            ledger = Ledger(folder.events(), self._judge.name, retry_unscored)
            runner = Runner(self._benchmark, folder, ledger, switch, observer)
            try:
                await runner.run(cases, epochs, self.concurrency)
            finally:
                await self._assistant.aclose()
                await self._judge.aclose()
            return Finished(out, runner.stages, ledger.unscored(cases, epochs))

    @staticmethod
    def _kept(event: Event | None) -> Response:
        """The response on disk, or one of an assumed length in its place."""
        return Response.model_validate(event.answer) if event else Response(text=ASSUMED_RESPONSE)

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
