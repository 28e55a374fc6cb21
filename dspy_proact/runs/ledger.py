"""The stages of a run: the record of each that ended, and which are still to do."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, FiniteFloat, TypeAdapter

from dspy_proact.calls import Call, Failure, Stage, StageKey
from dspy_proact.errors import ContentError
from dspy_proact.runs.benchmark import Case, Scored
from dspy_proact.types import Frozen

_LONGEST_ANSWER = 1_000_000
"""Characters; no token limit in use allows so many, and to have them judged would cost a fortune."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """One verdict on a response, as an event keeps it and as everything after the run reads it."""

    __pydantic_config__: ClassVar = Frozen.model_config
    score: Annotated[float, Field(ge=0, le=1)]
    """In [0, 1], higher is better."""
    label: str
    verified: bool | None
    """Whether a quote stands in the response; None where there is nothing to check."""
    parts: Mapping[str, FiniteFloat] = field(default_factory=dict[str, FiniteFloat])
    """Named finite numbers beside the score, from which a benchmark's measures are computed."""
    detail: Mapping[str, Any]
    """The benchmark's own model of the grading, as JSON."""
    judge: Annotated[str | None, Field(exclude=True)] = None
    """Its name, which a file has in the event's key; None where the benchmark grades by itself."""
    judge_epoch: Annotated[int, Field(exclude=True)] = 1
    """Number of this judge's verdict on the response, counted from 1; likewise in the key."""

    @classmethod
    def of(cls, scored: Scored[Any], detail: Mapping[str, Any], judge: str | None = None) -> "VerdictRecord":
        """A judge's first verdict by a grading with its detail as JSON; raises a `ValueError` for what is no number."""
        kept = {name: getattr(scored, name) for name in ("score", "label", "verified", "parts")}
        return _VERDICT.validate_python(kept | {"detail": detail, "judge": judge})


_VERDICT = TypeAdapter(VerdictRecord)


class StageEvent(Frozen):
    """One line of `events.jsonl`, a stage that ended: one of `answer`, `grade` and `failure` is given.

    None of them is given where an older run was stopped in the middle of a stage: its calls were made and are counted,
    and the stage is still to do.
    """

    key: StageKey
    answer: dict[str, Any] | None = None
    """The result of a response: the benchmark's own model, as JSON."""
    truncated: bool = False
    """Whether any reply that the answer was made of was cut at its limit; an older answer may say so itself."""
    grade: VerdictRecord | None = None
    failure: Failure | None = None
    calls: tuple[Call, ...] = ()
    """Every attempt at a call of the stage, of runs of before `calls.jsonl`; a newer one has them there."""
    attempts: int = 0
    """How many they were, those that were replayed included; 0 where that is not known."""
    time: float
    """Seconds since the epoch at its end."""

    @property
    def text(self) -> str | None:
        """The `answer_text` of its answer; None without one."""
        return answer_text(self.answer) if self.answer else None


def answer_text(answer: Mapping[str, Any]) -> str:
    """An answer as JSON, as the text that is kept of it: its field `text`; the whole answer where that is no text."""
    text = answer.get("text")
    return text if isinstance(text, str) else json.dumps(answer, sort_keys=True)


def usable(text: str) -> str:
    """The text of an answer that can be judged; raises `ContentError` when there is nothing in it, or far too much."""
    if not text.strip():
        raise ContentError("empty", "the model answered with blanks only")
    if len(text) > _LONGEST_ANSWER:
        raise ContentError("oversized", f"{len(text):,} characters, beyond any token limit")
    return text


def latest(events: Iterable[StageEvent]) -> dict[StageKey, StageEvent]:
    """The event that counts for each stage: the last one."""
    return {event.key: event for event in events}


@dataclass(frozen=True)
class Work:
    """A case in an epoch."""

    case: Case
    epoch: int


@dataclass(frozen=True)
class Grading:
    """Who grades every response, and how often."""

    judges: Sequence[str]
    """Names under which verdicts are kept; empty where the benchmark grades by itself, which it does once."""
    epochs: int = 1
    """Verdicts of each judge on a response."""

    def keys(self, case: str, epoch: int) -> list[StageKey]:
        """The verdicts on the response to a case in an epoch: every judge's first, then every judge's second, ..."""
        return [
            StageKey(case=case, epoch=epoch, stage="verdict", judge=judge, judge_epoch=again)
            for again in range(1, self.epochs + 1 if self.judges else 2)
            for judge in self.judges or (None,)
        ]


_Kind = tuple[int, Stage, str | None, int]
"""A stage's key without its case. There are few, so that a finished stage costs one entry of a dict by case."""


class Ledger:
    """The stages that have ended, and the responses that are still to be graded; finished ones are on disk only.

    A stage with a result is never open again. One that failed because of the provider, or of an application, is open
    again in the next run; one whose content could not be used only with `retry_content`, since asking until an answer
    suits would bias the score. Where responses are `copied` from another run, none is ever open.
    """

    def __init__(
        self, events: Iterable[StageEvent], grading: Grading, retry_content: bool = False, copied: bool = False
    ):
        self.grading, self.retry_content, self.copied = grading, retry_content, copied
        self._ended = defaultdict[_Kind, dict[str, Literal["result", "content", "provider", "app", "halted"]]](dict)
        self._answers: dict[tuple[str, int], dict[str, Any]] = {}
        self._tried = defaultdict[_Kind, set[str]](set)
        self._begun = Counter[StageKey]()
        self._fruitful = set[tuple[Stage, str | None]]()
        self._labels = set[str]()
        for event in events:
            self._note(event)

    def add(self, event: StageEvent) -> None:
        """Note a stage that ended just now; it is not open again in this process, however it ended."""
        self._note(event)
        self._tried[_kind(event.key)].add(event.key.case)

    def stages(self, work: Work) -> list[StageKey]:
        """The stages of a case in an epoch, in the order in which they are done."""
        return [_response(work.case.key, work.epoch), *self.grading.keys(work.case.key, work.epoch)]

    def has_result(self, key: StageKey) -> bool:
        """Whether a stage ended with a result."""
        return self._ended[_kind(key)].get(key.case) == "result"

    def is_fruitless(self, key: StageKey) -> bool:
        """Whether no stage of a kind has a result: no response, or no verdict of a judge."""
        return (key.stage, key.judge) not in self._fruitful

    def fruitless_failures(self) -> list[StageKey]:
        """The stages whose content could not be used, of the kinds of which none has a result."""
        return [
            key
            for (epoch, stage, judge, again), ended in self._ended.items()
            for case, how in ended.items()
            if how == "content" and not (stage == "response" and self.copied)
            if self.is_fruitless(key := StageKey(case=case, epoch=epoch, stage=stage, judge=judge, judge_epoch=again))
        ]

    def begun(self, key: StageKey) -> int:
        """Which beginning of a stage is the next or current one: its content could not be used one time less."""
        return 1 + self._begun[key]

    def answer(self, work: Work) -> dict[str, Any] | None:
        """A response that not everybody has graded yet, as it is kept; None where there is none."""
        return self._answers.get((work.case.key, work.epoch))

    def is_open(self, key: StageKey) -> bool:
        """Whether a stage is to be done now."""
        if key.case in self._tried[_kind(key)] or self.has_result(key):
            return False
        if key.stage == "response" and self.copied:
            return False
        if key.stage == "verdict" and not self.has_result(_response(key.case, key.epoch)):
            return False
        return self.retry_content or self._ended[_kind(key)].get(key.case) != "content"

    def open_work(self, cases: Sequence[Case], epochs: int) -> list[Work]:
        """Cases x epochs with a stage to do, in the order of the cases."""
        works = [Work(case, epoch) for epoch in range(1, epochs + 1) for case in cases]
        return [work for work in works if any(map(self.is_open, self.stages(work)))]

    @property
    def labels_of_cases(self) -> frozenset[str]:
        """Those that cases have; empty where several verdicts decide the label of one."""
        return frozenset(self._labels if len(self.grading.keys("", 1)) == 1 else ())

    def unscored(self, cases: Sequence[Case], epochs: int) -> int:
        """How many of these cases x epochs were tried and have no grade."""
        return len(self._without_grade(cases, epochs))

    def retryable(self, cases: Sequence[Case], epochs: int) -> int:
        """How many of the unscored can be asked for again: not those whose copied response is missing."""
        lacking = self._without_grade(cases, epochs)
        return sum(not self.copied or not self._failed(response) for response, *_ in lacking)

    def by_content(self, cases: Sequence[Case], epochs: int) -> int:
        """How many of the unscored only `retry_content` asks for again in full: content failed, not a copied one."""
        lacking = (keys[1:] if self.copied else keys for keys in self._without_grade(cases, epochs))
        return sum(any(self._ended[_kind(key)].get(key.case) == "content" for key in keys) for keys in lacking)

    def pending(self, cases: Sequence[Case], epochs: int) -> int:
        """How many copied responses to these cases x epochs are not there yet; 0 where responses are asked for."""
        if not self.copied:
            return 0
        tried = (self._ended[_kind(_response("", epoch))] for epoch in range(1, epochs + 1))
        return sum(ended.get(case.key, "halted") == "halted" for ended in tried for case in cases)

    def lacking(self, cases: Sequence[Case], epochs: int) -> int:
        """How many copied responses to these cases x epochs are not there, so that none can be graded now."""
        works = (_response(case.key, epoch) for epoch in range(1, epochs + 1) for case in cases)
        return sum(not self.has_result(response) for response in works) if self.copied else 0

    def _without_grade(self, cases: Sequence[Case], epochs: int) -> list[list[StageKey]]:
        """The stages of each case and epoch that was tried and has no grade."""
        # One case at a time: the keys of 100,000 cases take 150 MiB.
        stages = (self.stages(Work(case, epoch)) for epoch in range(1, epochs + 1) for case in cases)
        return [[first, *rest] for first, *rest in stages if self._failed(first) or all(map(self._failed, rest))]

    def _failed(self, key: StageKey) -> bool:
        return self._ended[_kind(key)].get(key.case) in ("content", "provider", "app")

    def _note(self, event: StageEvent) -> None:
        key, done = event.key, event.answer is not None or event.grade is not None
        how = "result" if done else event.failure.kind if event.failure else "halted"
        self._ended[_kind(key)][sys.intern(key.case)] = how
        if how == "content":
            self._begun[key] += 1
        elif how == "result":
            self._fruitful.add((key.stage, key.judge))
        if event.grade is not None:
            self._labels.add(event.grade.label)
        if event.answer is not None:
            self._answers[key.case, key.epoch] = event.answer
        if all(map(self.has_result, self.grading.keys(key.case, key.epoch))):
            self._answers.pop((key.case, key.epoch), None)


def _response(case: str, epoch: int) -> StageKey:
    return StageKey(case=case, epoch=epoch, stage="response")


def _kind(key: StageKey) -> _Kind:
    return (key.epoch, key.stage, key.judge, key.judge_epoch)
