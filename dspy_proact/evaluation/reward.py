"""A reward for training: the judge of a benchmark, behind the gate, on completions of a model that is being trained.

A completion is graded as an answer of a run is, by the same code, into a folder of the same form: it is an answer to
its case in a further epoch. The same completion to the same case is graded once, also after a kill.
"""

import asyncio
import atexit
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.answer_rows import plain_field
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.evaluation import Named, Rejudging
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.evaluation.responses import Responses, response_stage
from dspy_proact.evaluation.split import Split, splits_of
from dspy_proact.models import Cost, Gate, Model
from dspy_proact.models.thoughts import without_thoughts
from dspy_proact.plain_text import shown
from dspy_proact.runs import (
    CONTROL,
    HELD_BACK,
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
    require_public,
    usable,
)
from dspy_proact.switch import Switch

POLICY = "policy"
"""What runs of rewards call the model that is being trained."""
_ROOM = 400
"""Characters beyond the reference that a passing answer may take: two or three sentences."""
_CaseEpoch = tuple[str, int]
"""A case's key, and the epoch in which one of its completions stands."""


def reward(
    benchmark: Benchmark[Any, Any] | str | None = None,
    judge: Named | None = None,
    *,
    split: Split | None = "train",
    corpus: Any = "sample",
    control_weight: float = 0.5,
    length_weight: float = 0.5,
    settings: Settings | None = None,
    judge_prompt: str = "default",
    judge_program: Any = None,
    gate: Gate | None = None,
    out: str | Path | None = None,
) -> "Reward":
    """A reward function for training a model on the cases of a benchmark, such as by `trl.GRPOTrainer`.

    Args:
        benchmark: By its name, the path of its file, or itself; its answers must be texts.
        judge: By its name, or as a spec; several are a jury. None for the stand-in where the benchmark has a judge.
        split: The cases that may be asked about; None for those of both sides.
        corpus: As `Evaluation` takes it; no part that is held back.
        control_weight: What the worst answer to a control case costs. 0.5 by default: what would fit anybody, listed
            everywhere, earned 0.44 of the score in our trial, and does not pay where controls are as many.
        length_weight: What an answer of twice the proper length or more costs. 0.5 by default, the step from one grade
            to the next where there are three: a list of all that might be meant is worth no more than a hint.
        settings: Of the benchmark; its defaults where None.
        judge_prompt: Name of the words in which judges are asked, where the benchmark has several.
        judge_program: A compiled judge in place of the benchmark's: a module, or a file.
        gate: Limits, the number of calls in flight, and how calls are made; a `Gate()` where None.
        out: Folder of the grades, of one process; as the folder of a run is named where None.

    Raises:
        UsageError: The answers of the benchmark are no texts, or need the answers before them; a weight is negative;
            the corpus is held back, or has no case of the split; or judge and settings do not fit together.
        CorpusError: There is no such corpus, or it is not valid.
    """
    declared = benchmark_named(benchmark)
    settings = settings or declared.settings_type()
    if not all(math.isfinite(weight) and weight >= 0 for weight in (control_weight, length_weight)):
        raise UsageError("`control_weight` and `length_weight` are finite numbers, 0 or more")
    require_text(declared)
    if not isinstance(corpus, CaseSet):
        corpus = checked(declared, "read", declared.read(corpus, settings, None))
    cases: CaseSet = corpus
    cases.require(settings)
    held_back = cases.corpus.held_back or any(case.meta.get(HELD_BACK) for case in cases.cases)
    require_public(cases.corpus.name, held_back)
    if chained := next((case.key for case in cases.cases if case.chain), None):
        raise UsageError(f"{chained}: takes the answers before it, which a reward does not have; leave its setting out")
    splits = splits_of(declared, cases.cases)
    chosen = {case.key: case for case in cases.cases if split in (None, splits[case.key])}
    if not chosen:
        raise UsageError(f"`split={split}`: {cases.corpus.name} has no case of it; name a larger corpus, or None")
    grading = _GradingRun(
        declared,
        replace(cases, cases=tuple(chosen.values())),
        judge,
        settings,
        judge_prompt=judge_prompt,
        judge_program=judge_program,
        gate=gate,
        out=out,
    )
    return Reward(grading, chosen, splits, declared.corpus.reference, control_weight, length_weight)


def require_text(declared: Benchmark[Any, Any]) -> str:
    """The field that an answer's text is; raises a `UsageError` where an answer is more than a text."""
    if (field := plain_field(declared.answer_type)) is None:
        fields = ", ".join(declared.answer_type.model_fields)
        raise UsageError(
            f"{declared.name}: an answer has the fields {fields}, and what is trained here writes a text; grade its "
            "answers by a run, and train on the table that `export` makes of it as csv"
        )
    return field


@dataclass(frozen=True)
class Reward:
    """An async reward function: `await reward(prompts, completions, key)`, as `reward` makes it.

        score - length_weight * excess                              at a case
        -control_weight * (1 - score) - length_weight * excess      at a control case

    The score is in [0, 1]. The excess is how much longer the text is than the reference of its case and 400 characters,
    as a share of these, in [0, 1]; 0 where the benchmark has no references. A case thus gives a number in
    [-length_weight, 1], a control case one in [-control_weight - length_weight, 0].
    """

    grading: "_GradingRun"
    cases: Mapping[str, Case]
    """That may be asked about, by key."""
    splits: Mapping[str, Split]
    """Of all cases of the corpus."""
    reference: str | None
    control_weight: float
    length_weight: float

    def __repr__(self) -> str:
        weights = f"control_weight={self.control_weight}, length_weight={self.length_weight}"
        return f"Reward({self.grading.manifest.identity.benchmark!r}, {len(self.cases):,} cases, {weights})"

    @property
    def out(self) -> Path:
        """Folder of the grades, which `show` and `export` read as they read a run."""
        return self.grading.out

    @property
    def spent(self) -> Cost:
        """What this process has spent, against the limits of the gate."""
        return self.grading.spent

    async def __call__(
        self,
        prompts: Sequence[Any],  # noqa: ARG002 - those of the cases
        completions: Sequence[Any],
        key: Sequence[str],
        **columns: Any,  # noqa: ARG002 - trainers pass all that they have
    ) -> list[float | None]:
        """The reward of each completion, in their order; None where it has no grade.

        Args:
            prompts: Not used: a completion answers the case of its key.
            completions: Texts, or conversations of which the last message is the answer. Thoughts in them are left out.
            key: Of the case of each completion.
            columns: Not used.

        Raises:
            UsageError: A key is none of the cases, or is of the other split; or a completion is no text.
            RunError: The folder holds something else, or another process uses it.
            Halt: A limit is reached, or the judge cannot be asked; after it has been mended, what is graded stays.
        """
        if len(key) != len(completions):
            raise UsageError(f"`key`: has {len(key)} entries, and there are {len(completions)} completions")
        answers = [
            (self._case(one), without_thoughts(_text(text))[1]) for one, text in zip(key, completions, strict=True)
        ]
        graded = await self.grading.graded(answers)
        return [
            None if grade is None else self._worth(case, text, grade)
            for (case, text), grade in zip(answers, graded, strict=True)
        ]

    def close(self) -> None:
        """Let another process use the folder; the next call opens it again."""
        self.grading.close()

    def _case(self, key: str) -> Case:
        if case := self.cases.get(key):
            return case
        if side := self.splits.get(key):
            raise UsageError(f"{key!r}: is of the split {side!r}; leave it out of the rows, or name another `split`")
        corpus = self.grading.case_set.corpus.name
        raise UsageError(f"{shown(key)}: is the key of no case of {corpus}; name the `corpus` that the rows are of")

    def _worth(self, case: Case, text: str, score: float) -> float:
        worth = self.control_weight * (score - 1) if case.stratum == CONTROL else score
        return worth - self.length_weight * self._excess(case, text)

    def _excess(self, case: Case, text: str) -> float:
        if not (reference := case.meta.get(self.reference or "")):
            return 0.0
        proper = len(str(reference)) + _ROOM
        return min(1.0, max(0.0, len(text) / proper - 1))


def _text(completion: Any) -> str:
    """The text of a completion; of a conversation that of its last message, empty where that has none."""
    if isinstance(completion, Sequence) and not isinstance(completion, str):
        completion = completion[-1] if completion else ""
    content = completion.get("content") if isinstance(completion, Mapping) else completion
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    if content is not None and not isinstance(content, str):
        raise UsageError(f"`completions`: {shown(completion)} is neither a text nor a conversation")
    return content or ""


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


class _GradingRun(Rejudging):
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
        self._runner: Runner | None = None
        self._in_flight = dict[_CaseEpoch, asyncio.Future[None]]()
        self._waiting = 0

    async def graded(self, answers: Sequence[tuple[Case, str]]) -> list[float | None]:
        """The score of each answer; None for one without a grade. Raises the `Halt` at which grading ends."""
        runner = self._runner or self._open()
        runner.switch.check()
        works = [self._work(case, text) for case, text in answers]
        self._in_flight = {key: task for key, task in self._in_flight.items() if not task.done()}
        todo = {
            _case_epoch(work): work
            for work in filter(None, works)
            if _case_epoch(work) not in self._in_flight and any(map(runner.ledger.is_open, runner.ledger.stages(work)))
        }
        if todo:
            task = asyncio.ensure_future(runner.work_off(todo.values(), self._gate.concurrency))
            self._in_flight |= dict.fromkeys(todo, task)
        awaited = {
            self._in_flight[_case_epoch(work)] for work in works if work and _case_epoch(work) in self._in_flight
        }
        self._waiting += 1
        try:
            if awaited:
                await asyncio.wait(awaited)
        finally:
            self._waiting -= 1
            if not self._waiting and all(task.done() for task in self._in_flight.values()):
                for model in self.models:  # the next call may come in another event loop
                    await model.aclose()
        for task in awaited:
            task.result()
        if todo:
            runner.reopened()
        runner.switch.check()
        return [work and self._score(work) for work in works]

    def close(self) -> None:
        """Close the folder."""
        atexit.unregister(self.close)
        self._runner = None
        self._held.close()

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

    def _work(self, case: Case, text: str) -> Work | None:
        """The case in the epoch of an answer, which is kept where it is new; None where nothing can be graded."""
        try:
            answer = self.answer_type.model_validate({self._field: usable(text)})
        except ContentError:
            return None
        kept = as_kept(answer)
        known = self._epochs.get((case.key, _digest(answer_text(kept))))
        if known is None:
            if (known := self._count[case.key] + 1) > MOST_EPOCHS:
                has = f"has {MOST_EPOCHS:,} completions of {case.key!r}, the most of a run"
                raise UsageError(f"{self.out}: {has}; name another folder with `out`")
            assert self._runner, "the folder is open"
            if known > self._folder.manifest().epochs:
                self._folder.widen(self._selection(Scope(epochs=None)).manifest.model_copy(update={"epochs": known}))
            event = response_stage(case.key, self.answer_type.model_validate(kept), epoch=known)
            self._folder.record(event)
            self._runner.ledger.add(event)
            self._note(event)
        return Work(case, known)

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


def _case_epoch(work: Work) -> _CaseEpoch:
    return work.case.key, work.epoch


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
