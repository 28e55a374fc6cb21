"""A benchmark of riddles that shares nothing with ProactBench, and builders for runs of it on disk.

Runs and reports are tested with it, which shows that they know neither the corpus nor its grades.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from dspy_proact.calls import Call, Price
from dspy_proact.errors import AppError, ContentError, ProviderError, StageError
from dspy_proact.runs import (
    Case,
    CaseSet,
    CorpusRecord,
    Failure,
    Grading,
    Identity,
    Ledger,
    Manifest,
    Nouns,
    Observer,
    RoleIdentity,
    RunFolder,
    Runner,
    RunWriter,
    Scored,
    StageEvent,
    StageKey,
    VerdictRecord,
    latest,
)
from dspy_proact.runs.runner import GiveUp
from dspy_proact.switch import Switch
from dspy_proact.types import Frozen

JUDGE = "sphinx"
STRATA = ("RHYME", "NUMBER")
LABELS = ("SOLVED", "CLOSE", "LOST")
CONTROL_LABELS = ("SILENT", "CHATTY")
"""Of riddles to which nobody wants an answer."""
CORPUS = CorpusRecord(name="riddles.jsonl", revision=None, rows=3, cases=6, ignored_fields={})
KINDS = ["content", "provider", "app"]
SCORES = {"SOLVED": 1.0, "CLOSE": 0.4, "LOST": 0.0, "SILENT": 1.0, "CHATTY": 0.0}


class Riddle(Frozen):
    """What may be seen of a case."""

    text: str


class Guess(Frozen):
    """An answer."""

    words: str


class Marking(Frozen):
    """What the sphinx notes beside a label."""

    remark: str


Answering = Callable[[Case], Awaitable[Guess]]
Grader = Callable[[Case, Guess], Awaitable[Scored[Marking]]]


async def guess(case: Case) -> Guess:
    """The answer where nothing else is scripted."""
    return Guess(words=f"guess at {case.key}")


async def mark(case: Case, answer: Guess) -> Scored[Marking]:
    """The grade where nothing else is scripted."""
    return marked("SOLVED", f"remark on {answer.words}")


def marked(label: str, remark: str = "") -> Scored[Marking]:
    """A grade with the score of its label."""
    return Scored(SCORES[label], label, Marking(remark=remark))


class Riddles:
    """The benchmark; `answer` and `grade` do what a test scripts.

    Attributes:
        begun: Stage and key of everything that was begun, in that order.
        in_flight: Stages that have begun and not ended.
        most_in_flight: The most there ever were.
        earlier: The answers that each case was given, by its key.
    """

    name = "riddles"
    strata: Sequence[str] = STRATA
    labels: Sequence[str] = LABELS
    control_labels: Sequence[str] = CONTROL_LABELS
    nouns = Nouns(case="riddle", cases="riddles", group="place", groups="places")
    answer_type = Guess

    def __init__(
        self, cases: Iterable[Case], answer: Answering = guess, grade: Grader = mark, judges: Sequence[str] = (JUDGE,)
    ):
        self.case_set = CaseSet(tuple(cases), CORPUS, "cc")
        self._answer, self._grade = answer, grade
        self.judges: Sequence[str] = tuple(judges)
        self.begun: list[tuple[str, str]] = []
        self.earlier: dict[str, list[str | None]] = {}
        self.in_flight = self.most_in_flight = 0

    @classmethod
    def view_type(cls, stratum: str) -> type[Riddle]:
        return Riddle

    def admitted(self, case: Case, judges: Sequence[str | None], answer: Any) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def answer(self, case: Case, earlier: Sequence[Any]) -> Guess:
        self.earlier[case.key] = [item and item.words for item in earlier]
        with self._flight("response", case):
            return await self._answer(case)

    async def grade(self, case: Case, answer: Guess, judge: str | None) -> Scored[Marking]:
        with self._flight("verdict", case):
            return await self._grade(case, answer)

    @contextmanager
    def _flight(self, stage: str, case: Case) -> Generator[None]:
        self.begun.append((stage, case.key))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1


async def run_async(
    benchmark: Riddles,
    path: Path,
    *,
    epochs: int = 1,
    judge_epochs: int = 1,
    concurrency: int = 4,
    switch: Switch | None = None,
    observer: Observer | None = None,
    retry_content: bool = False,
    controls: str | None = None,
    give_up: GiveUp | None = None,
) -> Runner:
    """Run all cases of a benchmark into a folder, as `Evaluation` does."""
    keys = {"epochs": epochs, "judge_epochs": judge_epochs, "controls": controls}
    of = manifest(**keys, control_labels=benchmark.control_labels, **judged_by(*benchmark.judges))
    with RunWriter(path, of) as folder:
        folder.add_cases(benchmark.case_set.cases)
        ledger = Ledger(folder.events(), Grading(benchmark.judges, judge_epochs), retry_content)
        runner = Runner(benchmark, folder, ledger, switch or Switch(), observer or Observer(), give_up=give_up)
        await runner.run(benchmark.case_set.cases, epochs, concurrency)
    return runner


def run(benchmark: Riddles, path: Path, **options: Any) -> Runner:
    """The same, in an event loop of its own."""
    return asyncio.run(run_async(benchmark, path, **options))


def outcomes(path: Path) -> dict[tuple[str, int, str], Any]:
    """What counts for each stage on disk, without what differs from run to run: times and calls."""
    return {
        (key.case, key.epoch, key.stage): event.answer or event.grade or event.failure
        for key, event in latest(RunFolder(path).events()).items()
    }


def case(key: str, group: str = "cave", stratum: str = "RHYME", **meta: str | int) -> Case:
    """A case."""
    return Case(key=key, group=group, stratum=stratum, view=Riddle(text=f"What is {key}?"), meta=meta)


def cases(*keys: str) -> list[Case]:
    """A case a key."""
    return [case(key) for key in keys]


def identity(**changes: Any) -> Identity:
    """An identity; changes are on top."""
    fields = {
        "benchmark": "riddles",
        "assistant": RoleIdentity(model="traveller", prompt="aa", decoding={"temperature": 0.5}),
        "judges": (RoleIdentity(model=JUDGE, prompt="bb", decoding={}, endpoint="http://thebes/v1"),),
        "corpus": "cc",
    }
    return Identity(**(fields | changes))


def judged_by(*names: str) -> dict[str, Any]:
    """The change of a manifest that gives it these judges."""
    judges = tuple(RoleIdentity(model=name, prompt="bb", decoding={}, endpoint="http://thebes/v1") for name in names)
    return {"identity": identity(judges=judges), "judge_prices": {name: price() for name in names}}


def manifest(**changes: Any) -> Manifest:
    """A manifest; changes are on top."""
    fields = {
        "identity": identity(),
        "strata": STRATA,
        "labels": LABELS,
        "embedded": False,
        "epochs": 1,
        "corpus": CORPUS,
        "assistant_price": price(),
        "judge_prices": {JUDGE: price()},
        "backend": "auto",
        "versions": {"python": "3"},
        "created": "2026-01-02T03:04:05+00:00",
    }
    return Manifest(**(fields | changes))


def as_format_one(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a manifest of one judge as the first format had it: no list of judges, prices by role."""
    names = ("strata", "labels", "embedded", "epochs", "corpus", "backend", "versions", "created")
    identity, (judge_price,) = raw["identity"], raw["judge_prices"].values()
    lone = {"benchmark": identity["benchmark"], "judge": identity["judges"][0], "corpus": identity["corpus"]}
    prices = {"assistant": raw["assistant_price"], "judge": judge_price}
    of_run = {"format": 1, "identity": lone | {"assistant": identity["assistant"]}, "prices": prices}
    return of_run | {name: raw[name] for name in names}


def price(
    prompt: float | None = 0.0, completion: float | None = 0.0, cached: float | None = None, reason: str = "a list"
) -> Price:
    """Dollars per token; free unless said otherwise."""
    return Price(prompt=prompt, completion=completion, cached=cached, reason=reason)


def call(role: str = "assistant", **changes: Any) -> Call:
    """An attempt that was answered with 10 tokens in and 5 out; changes are on top."""
    fields = {"started": 1.0, "latency": 0.5, "prompt_tokens": 10, "completion_tokens": 5, "finish_reason": "stop"}
    return Call(role=role, **(fields | changes))


def halted(key: StageKey, *calls: Call) -> StageEvent:
    """The event of a stage in whose middle the run was halted."""
    return StageEvent(key=key, calls=calls, time=5.0)


def failed_call(role: str = "assistant", error: str = "server") -> Call:
    """An attempt that was not answered."""
    return Call(role=role, started=1.0, latency=0.5, error=error)


def answered(key: str, *calls: Call, epoch: int = 1, words: str = "a river") -> StageEvent:
    """The event of a response with its result."""
    return StageEvent(key=response_key(key, epoch), answer={"words": words}, calls=calls, time=2.0)


def graded(
    key: str,
    label: str,
    *calls: Call,
    epoch: int = 1,
    score: float | None = None,
    verified: Any = None,
    judge: str = JUDGE,
    judge_epoch: int = 1,
) -> StageEvent:
    """The event of a verdict with its result; the score is the label's unless given, and its detail as ours are."""
    detail = {"remark": "hm"} if label in SCORES else {"reasoning": "hm", "evidence": [], "grade": label}
    grade = VerdictRecord(
        score=SCORES[label] if score is None else score, label=label, verified=verified, detail=detail
    )
    return StageEvent(key=verdict_key(key, epoch, judge, judge_epoch), grade=grade, calls=calls, time=3.0)


def failed(
    key: str,
    stage: Literal["response", "verdict"],
    kind: Literal["content", "provider", "app"],
    reason: str,
    *calls: Call,
    epoch: int = 1,
    judge: str = JUDGE,
    judge_epoch: int = 1,
    detail: str = "",
) -> StageEvent:
    """The event of a stage that ended without a result."""
    of_stage = verdict_key(key, epoch, judge, judge_epoch) if stage == "verdict" else response_key(key, epoch)
    return StageEvent(key=of_stage, failure=Failure(kind=kind, reason=reason, detail=detail), calls=calls, time=4.0)


def written(path: Path, of: Manifest, cases: Iterable[Case] = (), events: Iterable[StageEvent] = ()) -> RunFolder:
    """A run on disk with these contents."""
    with RunWriter(path, of) as folder:
        folder.add_cases(cases)
        for event in events:
            folder.record(event)
    return RunFolder(path)


def failure(kind: str, reason: str = "told_to") -> StageError:
    """The error of a kind, to be raised by a script."""
    return {"content": ContentError, "provider": ProviderError, "app": AppError}[kind](reason, "as the test asks")


def response_key(key: str, epoch: int = 1) -> StageKey:
    """What a response answers to."""
    return StageKey(case=key, epoch=epoch, stage="response")


def verdict_key(key: str, epoch: int = 1, judge: str = JUDGE, judge_epoch: int = 1) -> StageKey:
    """What a verdict answers to."""
    return StageKey(case=key, epoch=epoch, stage="verdict", judge=judge, judge_epoch=judge_epoch)


def raising(error: BaseException, key: str = "a") -> Callable[..., Any]:
    """A script for either stage that fails at one case."""

    async def script(case: Case, *answer: Guess) -> Any:
        if case.key == key:
            raise error
        return await (mark(case, *answer) if answer else guess(case))

    return script


def stages(path: Path) -> list[tuple[str, str]]:
    """Case and stage of each event on disk, sorted."""
    return sorted((event.key.case, event.key.stage) for event in RunFolder(path).events())


async def until(condition: Callable[[], object]) -> None:
    """Let others go on until something holds."""
    while not condition():
        await asyncio.sleep(0)


class Court(Riddles):
    """Two judges who grade apart: `sphinx` is lenient and `oracle` is not; notes in which order they are asked."""

    def __init__(self, *keys: str, failing: Mapping[str, Exception] = MappingProxyType({})):
        super().__init__(cases(*keys), judges=("sphinx", "oracle"))
        self.calls: list[tuple[str, str]] = []
        self._failing = failing

    async def grade(self, case: Case, answer: Guess, judge: str) -> Scored[Marking]:
        self.calls.append((case.key, judge))
        if error := self._failing.get(judge):
            raise error
        return marked({"sphinx": "SOLVED", "oracle": "LOST"}[judge], f"{judge} on {answer.words}")
