"""A benchmark, its models and its manifest, done into a folder: checked before the first call, resumed by the same."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact.benchmarks.plan import ASSUMED_RESPONSE, RESPONSE_TOKENS, VERDICT_TOKENS, Plan, plan_role, together
from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.errors import Interrupted, UsageError
from dspy_proact.models import Cost, Gate, Limits, Model
from dspy_proact.runs import (
    CONTROL,
    Case,
    Event,
    Grading,
    Ledger,
    Manifest,
    Observer,
    RunFolder,
    Runner,
    RunWriter,
    latest,
    orderly_interrupt,
    select_cases,
)
from dspy_proact.switch import Switch
from dspy_proact.types import Response

_LONGEST_NAME = 100
"""Characters of the name of a model, or of a jury, in a folder's name."""


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    path: Path
    """The folder of the run."""
    stages: int
    """Responses and verdicts that this command got or failed to get; 0 when all was on disk already."""
    unscored: int
    """Of what this command asked for: tried and without a grade."""


class Execution:
    """What `Evaluation` and `Rejudging` have in common.

    Args:
        benchmark: What is asked and how it is graded.
        manifest: Of the run.
        gate: Of all the models.
        assistant: The model under test; None where its responses are copied.
        judges: The models that grade.
        copied: Responses that exist, as stages of their run.
    """

    def __init__(
        self,
        benchmark: ProactBench,
        manifest: Manifest,
        *,
        gate: Gate,
        assistant: Model | None,
        judges: Sequence[Model],
        copied: Sequence[Event] = (),
    ):
        self.manifest = manifest
        self._benchmark, self._gate = benchmark, gate
        self._assistant, self._judges, self._copied = assistant, judges, copied

    @property
    def limits(self) -> Limits:
        """The most that one run of this may spend."""
        return self._gate.limits

    @property
    def spent(self) -> Cost:
        """What counts against the limits, after a run."""
        return self._gate.budget.spent

    @property
    def default_folder(self) -> Path:
        """`runs/<model>--<judge>--<8 hex of the identity>`."""
        identity = self.manifest.identity
        named = run_name(identity.assistant.model, [judge.model for judge in identity.judges])
        return Path("runs", f"{named}--{identity.digest()[:8]}")

    def check(self, out: str | Path | None = None, controls: bool = False) -> None:
        """Raise a `RunError` where a folder holds another run or something else; nothing is written."""
        RunFolder(out or self.default_folder).check(self._asked(controls))

    def run(
        self,
        out: str | Path | None = None,
        *,
        limit: int | None = None,
        phases: Collection[str] = (),
        epochs: int | None = None,
        judge_epochs: int | None = None,
        retry_unscored: bool = False,
        controls: bool = False,
        observer: Observer | None = None,
        spent: Cost | None = None,
    ) -> Finished:
        """Do what has no result yet, and return when all of it has ended.

        Args:
            out: The folder; `default_folder` when None.
            limit: The most triggers, spread over scenarios and phases; None for all.
            phases: Only these; empty for all.
            epochs: How often each trigger is answered; None for once, or as often as copied responses are.
            judge_epochs: How often each judge grades each response; None for once, or as often as its program asks.
            retry_unscored: Try again also what failed for its content, which the report counts.
            controls: Ask at control turns too, of which a limit allows as many as of triggers.
            observer: Told of what happens.
            spent: What counts against the limits already, such as by another run of the same command.

        Raises:
            UsageError: There is nothing to do with this limit, these phases or epochs.
            RunError: The folder cannot be used.
            Halt: The run ended early; what is on disk is kept, and the same call goes on.
        """
        try:
            folder, (epochs, judge_epochs) = Path(out or self.default_folder), self._times(epochs, judge_epochs)
            cases = self._selected(limit, phases, epochs, judge_epochs, controls)
            switch = Switch()
            self._gate.open(switch, spent)
            manifest = self._asked(controls).model_copy(update={"epochs": epochs, "judge_epochs": judge_epochs})
            work = self._run(folder, manifest, cases, retry_unscored, observer=observer or Observer(), switch=switch)
            return asyncio.run(work)
        except asyncio.CancelledError:
            raise Interrupted("interrupted twice: what was in flight is dropped") from None

    def plan(
        self,
        out: str | Path | None = None,
        *,
        limit: int | None = None,
        phases: Collection[str] = (),
        epochs: int | None = None,
        judge_epochs: int | None = None,
        retry_unscored: bool = False,
        controls: bool = False,
    ) -> Plan:
        """What `run` would do with the same arguments; no call is made and nothing is written."""
        epochs, judge_epochs = self._times(epochs, judge_epochs)
        self.check(out, controls)
        folder = RunFolder(out or self.default_folder)
        events = tuple(folder.events())
        grading = Grading(self._benchmark.judges, judge_epochs)
        ledger = self._ledger([*events, *self._to_copy(events)], grading, retry_unscored)
        work = ledger.open_work(self._selected(limit, phases, epochs, judge_epochs, controls), epochs)
        stages = [(each, key) for each in work for key in ledger.stages(each)]
        answers = [each.case for each, key in stages if key.stage == "response" and ledger.is_open(key)]
        # A response that is still to be written will be graded, so its verdicts count as open.
        verdicts = [
            (key.judge, self._benchmark.asked_to_grade(each.case, _kept(ledger.response(each)), key.judge))
            for each, key in stages
            if key.judge and (ledger.is_open(key) or ledger.is_open(ledger.stages(each)[0]))
        ]
        assistant = [
            plan_role(model, map(self._benchmark.asked, answers), RESPONSE_TOKENS)
            for model in filter(None, [self._assistant])
        ]
        judges = [
            plan_role(model, [prompt for judge, prompt in verdicts if judge == model.name], VERDICT_TOKENS)
            for model in self._judges
        ]
        return Plan.of(together(assistant), together(judges), self._gate.concurrency)

    def _times(self, epochs: int | None, judge_epochs: int | None) -> tuple[int, int]:
        """How often each trigger is answered and each response graded, where the person does not say."""
        asked = self.manifest.judge_epochs
        if judge_epochs is not None and self.manifest.identity.judges[0].cuts and judge_epochs != asked:
            raise UsageError(
                f"the judge's program asks for {asked} verdicts on each response; leave --judge-epochs out"
            )
        return self.manifest.epochs if epochs is None else epochs, asked if judge_epochs is None else judge_epochs

    def _asked(self, controls: bool) -> Manifest:
        """The manifest of a command that asks for control turns or does not."""
        words = self._benchmark.detector.fingerprint() if controls else None
        return self.manifest.model_copy(update={"controls": words})

    def _selected(
        self, limit: int | None, phases: Collection[str], epochs: int, judge_epochs: int, controls: bool
    ) -> list[Case]:
        wrong = [phase for phase in phases if phase not in self._benchmark.strata]
        if wrong or min(epochs, judge_epochs) < 1 or (limit is not None and limit < 1):
            known = ", ".join(self._benchmark.strata)
            raise UsageError(f"nothing to do: limit and epochs must be 1 or more, and phases among {known}")
        cases = self._benchmark.cases()
        triggers = select_cases([case for case in cases if case.stratum != CONTROL], limit, phases)
        beside = select_cases([case for case in cases if case.stratum == CONTROL], limit) if controls else []
        if controls and not beside and self._assistant is None:
            raise UsageError(
                "--controls: among these responses is none at a control turn; a model is asked for them by "
                "`eval --controls`, where its corpus has such turns"
            )
        return [*triggers, *beside]

    async def _run(
        self,
        out: Path,
        manifest: Manifest,
        cases: Sequence[Case],
        retry_unscored: bool,
        *,
        observer: Observer,
        switch: Switch,
    ) -> Finished:
        epochs, grading = manifest.epochs, Grading(self._benchmark.judges, manifest.judge_epochs)
        with RunWriter(out, manifest) as folder, orderly_interrupt(switch, observer.interrupted):
            folder.add_cases(cases)
            for event in self._to_copy(tuple(folder.events()), {case.key for case in cases}):
                folder.record(event)
            ledger = self._ledger(tuple(folder.events()), grading, retry_unscored)
            runner = Runner(self._benchmark, folder, ledger, switch, observer)
            try:
                await runner.run(cases, epochs, self._gate.concurrency)
            finally:
                for model in filter(None, (self._assistant, *self._judges)):
                    await model.aclose()
            return Finished(out, runner.stages, ledger.unscored(cases, epochs))

    def _ledger(self, events: Sequence[Event], grading: Grading, retry_unscored: bool) -> Ledger:
        return Ledger(events, grading, retry_unscored, copied=self._assistant is None)

    def _to_copy(self, events: Sequence[Event], keys: Collection[str] | None = None) -> list[Event]:
        """The copied responses that are not here yet, or stand here as failures that the other run has mended."""
        here = latest(events)
        asked = [event for event in self._copied if keys is None or event.key.case in keys]
        return [
            event
            for event in asked
            if (kept := here.get(event.key)) is None or (kept.answer is None and event.answer is not None)
        ]


def run_name(model: str, judges: Sequence[str]) -> str:
    """`<model>--<judges>`, several judges with a plus between them: the beginning of a run's folder's name."""
    return f"{folder_name(model)}--{'+'.join(map(folder_name, judges))[:_LONGEST_NAME]}"


def folder_name(model: str) -> str:
    """A model's name as a part of a folder's name, short enough for any disk."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip(".") or "_")[:_LONGEST_NAME]


def _kept(event: Event | None) -> Response:
    """The response on disk, or one of an assumed length in its place."""
    return Response.model_validate(event.answer) if event else Response(text=ASSUMED_RESPONSE)
