"""Grading answers as they come, into the folder of a run that stays open, for callers in any event loop."""

import asyncio
import atexit
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from dspy_proact.calls import Call, Failure, StageKey
from dspy_proact.errors import ContentError, Halt, RunError, UsageError
from dspy_proact.evaluation.answer_rows import plain_field
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.evaluation import Named, Rejudging
from dspy_proact.evaluation.mends import unusable_content
from dspy_proact.evaluation.responses import Responses, response_stage
from dspy_proact.models import Gate, Model
from dspy_proact.runs import (
    CONTROL,
    MOST_EPOCHS,
    Case,
    CaseSet,
    Observer,
    RoleIdentity,
    Runner,
    RunWriter,
    Scope,
    Settings,
    StageEvent,
    VerdictRecord,
    Work,
    answer_text,
    as_kept,
    joint_grade,
    usable,
)
from dspy_proact.switch import Switch

POLICY = "policy"
"""What these runs call the model that is being trained."""
_CaseEpoch = tuple[str, int]
"""A case's key, and the epoch in which one of its completions stands."""


def require_text(declared: Benchmark[Any, Any]) -> str:
    """The field that an answer's text is; raises a `UsageError` where an answer is more than a text."""
    if (field := plain_field(declared.answer_type)) is None:
        fields = ", ".join(declared.answer_type.model_fields)
        raise UsageError(
            f"{declared.name}: an answer has the fields {fields}, and what is trained here writes a text; grade its "
            "answers by a run, and train on the table that `export` makes of it as csv"
        )
    return field


class _Grades(Observer):
    """The verdicts on completions, without what they rest on."""

    def __init__(self, events: Iterator[StageEvent]):
        self.verdicts = defaultdict[_CaseEpoch, list[VerdictRecord]](list)
        for event in events:
            self.ended(event, last=True)

    def ended(self, event: StageEvent, last: bool) -> None:
        """Note a verdict; later ones of a jury stand after earlier ones."""
        del last
        if event.grade:
            key, judge = (event.key.case, event.key.epoch), event.key.judge
            self.verdicts[key].append(replace(event.grade, detail={}, judge=judge))


class GradingRun(Rejudging):
    """Grades answers as they come, into a folder that stays open."""

    def __init__(
        self,
        declared: Benchmark[Any, Any],
        cases: CaseSet,
        judge: Named | None,
        settings: Settings,
        *,
        judge_prompt: str,
        judge_program: Any,
        gate: Gate | None,
        out: str | Path | None,
    ):
        answers = Responses(
            name=POLICY,
            parent=f"{POLICY} in training",
            identity=RoleIdentity(model=POLICY, program="unknown", prompt="", decoding={}),
            case_set=cases,
            stages=(),
            embedded=False,
            benchmark=declared.name,
            settings=settings.model_dump(mode="json"),
            keeps_inputs=not cases.corpus.private,
        )
        more: dict[str, Any] = {"judge_prompt": judge_prompt, "judge_program": judge_program, "gate": gate}
        super().__init__(answers, judge, benchmark=declared, settings=settings, **more)
        self.out = Path(out or self.default_folder)
        self._field, self._held = require_text(declared), ExitStack()
        self._turn, self._thread = Lock(), None
        self._runner: Runner | None = None
        self._in_flight = dict[_CaseEpoch, asyncio.Task[None]]()

    async def graded(self, answers: Sequence[tuple[Case, str]]) -> list[float | None]:
        """The score of each answer, 0 where it has no text; None for one without a grade.

        Raises the `Halt` at which grading ends, and a `RunError` where it is closed meanwhile.
        """
        with self._turn:
            if not (self._thread and self._thread.is_alive()):  # a forked process has none of the threads
                begun = Future[asyncio.AbstractEventLoop]()
                self._thread = Thread(target=_serve, args=(begun,), name="dspy-proact reward", daemon=True)
                self._thread.start()
                self._loop, self._runner, self._in_flight = begun.result(), None, {}
        grading = asyncio.run_coroutine_threadsafe(self._graded(answers), self._loop)
        try:
            return await asyncio.wrap_future(grading)
        except asyncio.CancelledError:
            if (caller := asyncio.current_task()) and caller.cancelling():
                raise
            raise RunError(f"{self.out}: was closed in the middle of a call; call it again") from None

    async def _graded(self, answers: Sequence[tuple[Case, str]]) -> list[float | None]:
        """The same in the one loop in which models are asked: a caller's own may be gone with the next call."""
        runner = self._runner or self._open()
        runner.switch.check()
        works = self._works(answers, runner)
        self._in_flight = {key: task for key, task in self._in_flight.items() if not task.done()}
        todo = {
            _case_epoch(work): work
            for work in filter(None, works)
            if _case_epoch(work) not in self._in_flight and any(map(runner.ledger.is_open, runner.ledger.stages(work)))
        }
        if todo:
            task = asyncio.create_task(runner.work_off(todo.values(), self._gate.concurrency))
            self._in_flight |= dict.fromkeys(todo, task)
        awaited = {
            self._in_flight[_case_epoch(work)] for work in works if work and _case_epoch(work) in self._in_flight
        }
        if awaited:
            await asyncio.wait(awaited)
        for task in awaited:
            task.result()
        if all(task.done() for task in self._in_flight.values()):
            for model in self.models:  # a server closes connections before the next step of a training
                await model.aclose()
        if todo:
            runner.reopened()
        runner.switch.check()
        return [self._score(work) if work else 0.0 for work in works]

    def close(self) -> None:
        """Drop what is in flight, and close the folder."""
        atexit.unregister(self.close)
        with self._turn:
            if self._thread and self._thread.is_alive():
                try:
                    asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
                finally:
                    self._loop.call_soon_threadsafe(self._loop.stop)
                    self._thread.join()
            self._thread = None

    async def _end(self) -> None:
        tasks = {*self._in_flight.values()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for model in self.models:
            await model.aclose()
        self._held.close()  # a lock is released by the thread that took it

    def _give_up(self, key: StageKey, failures: Sequence[tuple[Failure, Sequence[Call]]]) -> Halt:
        return unusable_content(key, failures, self._judges[key.judge].model if key.judge else None, "")

    def _open(self) -> Runner:
        for model in self.models:
            model.require_key()
        controls = any(case.stratum == CONTROL for case in self.case_set.cases)
        manifest, switch = self._selection(Scope(controls=controls)).manifest, Switch()
        with ExitStack() as stack:
            self._folder = stack.enter_context(RunWriter(self.out, manifest))
            self._folder.add_cases(self.case_set.cases)
            self._epochs, self._count = dict[tuple[str, str], int](), Counter[str]()
            for event in self._folder.events():
                if event.key.stage == "response" and event.answer:
                    self._note(event)
            self._grades = _Grades(self._folder.events())
            answered = [
                model.caller
                for model in self.models
                if isinstance(model, Model) and self._folder.has_reply(model.role.name, model.name)
            ]
            self._gate.open(switch, self._gate.budget.spent, answered=answered)
            ledger = self._ledger(self._folder.events(), Scope())
            runner = Runner(self, self._folder, ledger, switch, self._grades, give_up=self._give_up)
            stack.enter_context(runner.opened())
            self._held = stack.pop_all()
        self._runner = runner
        atexit.register(self.close)  # a trainer does not close what it calls
        return runner

    def _note(self, event: StageEvent) -> int:
        """The epoch of an answer, which is new in this process."""
        key = event.key
        self._epochs[key.case, _digest(event.text or "")] = key.epoch
        self._count[key.case] = max(self._count[key.case], key.epoch)
        return key.epoch

    def _works(self, answers: Sequence[tuple[Case, str]], runner: Runner) -> list[Work | None]:
        """Of each answer its case and epoch, which are kept where they are new; None without anything to grade."""
        works, new = list[Work | None](), dict[tuple[str, str], tuple[int, dict[str, Any]]]()
        counts = dict[str, int]()
        for case, text in answers:
            try:
                kept = as_kept(self.answer_type.model_validate({self._field: usable(text)}))
            except ContentError:
                works.append(None)
                continue
            digest = case.key, _digest(answer_text(kept))
            known = self._epochs.get(digest)
            if known is None and digest not in new:
                counts[case.key] = counts.get(case.key, self._count[case.key]) + 1
                new[digest] = counts[case.key], kept
            works.append(Work(case, new[digest][0] if known is None else known))
        for key, count in counts.items():
            if count > MOST_EPOCHS:
                most = f"more than the {MOST_EPOCHS:,} that a run takes"
                raise UsageError(
                    f"{self.out}: {count:,} completions of {key!r} are {most}; name another folder with `out`"
                )
        if (most := max(counts.values(), default=0)) > self._folder.manifest().epochs:
            wanted = self._selection(Scope(epochs=None)).manifest
            self._folder.widen(wanted.model_copy(update={"epochs": most}))
        for (key, _), (epoch, kept) in new.items():
            event = response_stage(key, self.answer_type.model_validate(kept), epoch=epoch)
            self._folder.record(event)
            runner.ledger.add(event)
            self._note(event)
        return works

    def _score(self, work: Work) -> float | None:
        """The mean of the verdicts that could be read; None without one."""
        if not (verdicts := self._grades.verdicts.get(_case_epoch(work))):
            return None
        controls, stratum = self._declared.controls, work.case.stratum
        if stratum == CONTROL and controls:
            return joint_grade(verdicts, controls.labels, {})[1]
        judges = self.manifest.identity.judges
        cuts = {judge.model: judge.cuts[stratum] for judge in judges if stratum in judge.cuts}
        return joint_grade(verdicts, tuple(self._declared.labels), cuts)[1]


def _serve(begun: "Future[asyncio.AbstractEventLoop]") -> None:
    with asyncio.Runner() as runner:
        begun.set_result(runner.get_loop())
        runner.get_loop().run_forever()


def _case_epoch(work: Work) -> _CaseEpoch:
    return work.case.key, work.epoch


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
