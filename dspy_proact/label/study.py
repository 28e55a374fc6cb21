"""What a study is, what people rate in it and what they give, as its file gives and takes them."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import from_json

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, WorkedCase, parts_of, worked_cases_of
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.evaluation.reporting import PageSection
from dspy_proact.report.reading import Reading
from dspy_proact.report.summary import Summary
from dspy_proact.runs import answer_text

LONGEST_NAME, LONGEST_REASON, MOST_SPANS, LONGEST_SECONDS = 60, 4000, 100, 86_400.0
"""Characters of a pseudonym and of a reason, marked passages of a response, and time of a rating."""
PRACTICE_ROUND, PRACTICE_ROUNDS, PRACTICE_RIGHT = 3, 2, 2
"""Practice items of a round, rounds that a rater has at most, and right grades by which a round is passed."""
_PRACTICE = PRACTICE_ROUND * PRACTICE_ROUNDS
Kind = Literal["grades", "pairs", "reviews"]
"""Grades of single responses, choices between two, or reviews of the items of a corpus."""
Criteria = tuple[tuple[str, str], ...]
"""Level and what it means, from best to worst; a level without words is left out."""
Unit = tuple[str, str]
"""Run and case."""
PREFERENCE = Part("preference", ("first", "tie", "second"), "nominal", question="Which response is better?")
"""The part that is rated of two responses to one case: which of them, in the order of the runs."""


@dataclass(frozen=True)
class Design:
    """What a study is to hold, as whoever begins it asks for it."""

    count: int | None = None
    """Responses of each run, or pairs; None for all."""
    ratings: Annotated[int, Field(alias="each")] = 2
    """Ratings of every item, by different raters; `each` in the file of a study."""
    raters: int = 4
    """Among whom the work is divided, at least `ratings`."""
    repeated: float = 0.1
    """Share of a rater's units that come again, in [0, 1]."""
    seed: int = 0
    disputed: bool = False
    """Whether cases on which judges disagree come first; scores cannot be corrected by ratings of these."""
    kind: Kind = "grades"
    shared: float = 1.0
    """Share of units that have `ratings` raters, in [0, 1]; the others have one. 1 but for reviews."""

    def raters_of(self, rank: int) -> int:
        """How many raters the unit has that is at this rank of the draw; those with several lie at equal steps."""
        before, after = (math.ceil(round(units * self.shared, 9)) for units in (rank, rank + 1))
        return self.ratings if after > before else 1


@dataclass(frozen=True)
class StudyRun:
    """A run whose responses are rated, or a corpus whose items are reviewed."""

    run: str
    """Its `run_key`; empty for a corpus."""
    path: str
    """Where it was when the study began."""
    draw: str | None = None
    """By what chance its cases were drawn, as the column `draw` of a sheet has it; None where they were chosen
    otherwise, so that no score can be corrected by their ratings."""


@dataclass(frozen=True)
class Study:
    """What a study is: declared once, when its file is made."""

    benchmark: str
    runs: tuple[StudyRun, ...]
    design: Design
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Of the benchmark, as JSON, where a file of answers is rated, which does not record them."""


@dataclass(frozen=True)
class Rater:
    """A person who rates, under a pseudonym."""

    number: int
    """Counted from 1 in the order in which they came."""
    name: str
    """The pseudonym, in NFC."""


def practice_passed(correct: Sequence[bool]) -> bool | None:
    """Whether a rater with these right and wrong grades, in order, has passed; None before the round is finished."""
    starts = range(0, PRACTICE_ROUND * PRACTICE_ROUNDS, PRACTICE_ROUND)
    rounds = [correct[start : start + PRACTICE_ROUND] for start in starts]
    if any(len(of_round) == PRACTICE_ROUND and sum(of_round) >= PRACTICE_RIGHT for of_round in rounds):
        return True
    return None if len(rounds[-1]) < PRACTICE_ROUND else False


@dataclass(frozen=True)
class Slot:
    """One item of a rater's slate."""

    rater: int
    item: str
    repeated: bool
    """Whether the rater is to rate the item a second time."""
    state: Literal["open", "rated", "skipped", "returned"]
    """Returned ones were given back, and somebody else rates their items."""


def _of_json(value: Any) -> Any:
    return from_json(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Submission:
    """What somebody gives to an item: a rating, a skip, whose grade is empty, or the owner's own grade.

    Forms, files of offline pages and the log hold it under the names of these fields; texts are read as numbers.
    Whether it fits its item is for `StudyItem.misfit` to say.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)

    item: str
    grade: str
    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """Idempotency key: a second write with it is none."""
    confidence: Annotated[int, BeforeValidator(lambda value: value or 0)] = 0
    """1 to 5; 0 for a skip."""
    reason: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """Empty where none is given."""
    spans: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_of_json)] = ()
    """Start and end of each passage of the response that decided, in characters."""
    seconds: float = 0.0
    """Time taken, without pauses; 0 where it is not known."""
    repeated: bool = False
    """Whether it is a planned second rating by the same rater."""
    time: Annotated[float, Field(ge=0, lt=1e11)] | None = None
    """When it was given, in seconds since the epoch; None for now."""


@dataclass(frozen=True, kw_only=True)
class Rating(Submission):
    """What a rater gave to an item, as the log has it. What was undone is none."""

    number: int
    """In the order in which they were given."""
    rater: str
    """Pseudonym."""
    run: str
    case: str
    part: str
    """Name of the part; empty for the grading as a whole."""


class StoredItem(Protocol):
    """What the file of a study keeps of an item."""

    @property
    def key(self) -> str:
        """16 hex digits, unique in the study."""
        ...

    @property
    def run(self) -> str:
        """Of a run, else empty."""
        ...

    @property
    def case(self) -> str:
        """Key of what is rated, in its run or corpus."""
        ...

    @property
    def part(self) -> Part:
        """The part of the grading."""
        ...

    @property
    def mark(self) -> str:
        """16 hex digits over everything that a rater reads."""
        ...


@dataclass(frozen=True)
class StudyItem:
    """One part of one response of the first epoch, as a rater reads it; of a pair, of two responses to one case.

    No field names a model, a judge's grade or a stratum, so that a page or a file may show any of them to a rater.
    """

    key: str
    """16 hex digits over run, case and part: unique in a study, and telling a rater nothing."""
    run: str
    """`run_key` of the run; of a pair, of both runs, with a `+` between; empty for practice."""
    case: str
    """Key of the case in its run."""
    part: Part
    sections: tuple[PageSection, ...]
    """What stood before the response, without the criteria."""
    criteria: Criteria
    responses: tuple[str, ...]
    """One, or the two of a pair in the order of their runs."""

    @property
    def unit(self) -> Unit:
        """What one rater rates all parts of, one after another."""
        return self.run, self.case

    @property
    def levels(self) -> tuple[str, ...]:
        """The grades, from best to worst; on a nominal scale in the order of the declaration."""
        return self.part.levels if self.part.scale == "nominal" else self.part.levels[::-1]

    @property
    def question(self) -> str:
        """What a rater is asked."""
        return self.part.rater_question

    @property
    def mark(self) -> str:
        """16 hex digits over everything that a rater reads: ratings of another text are no ratings of this item."""
        read = (self.sections, self.criteria, self.responses, self.part.question, self.part.levels)
        return _digest(repr(read))

    def misfit(self, submission: Submission) -> tuple[str, str] | None:
        """The field of a rating or a skip that no page would give to this item, and why; None where all fit."""
        spans, length = sorted(submission.spans), len(self.responses[0]) if len(self.responses) == 1 else 0
        within = all(0 <= start < end <= length for start, end in spans)
        separate = all(before[1] <= after[0] for before, after in pairwise(spans))
        steps = range(1, 6) if submission.grade else (0,)
        checks = (
            ("grade", submission.grade in ("", *self.part.levels), "is none of the grades of this item"),
            ("confidence", submission.confidence in steps, "is none of 1, 2, 3, 4 and 5"),
            ("reason", submission.grade or submission.reason, "is missing; a skip needs one"),
            ("reason", len(submission.reason) <= LONGEST_REASON, f"has more than {LONGEST_REASON:,} characters"),
            ("spans", within, "are not words of the response"),
            ("spans", separate, "overlap"),
            ("spans", len(spans) <= MOST_SPANS, f"are more than {MOST_SPANS}"),
            ("seconds", 0 <= submission.seconds <= LONGEST_SECONDS, "are no time within a day"),
        )
        return next(((field, why) for field, fits, why in checks if not fits), None)


@dataclass(frozen=True)
class Practice:
    """An item whose grade follows from a rule, and why."""

    item: StudyItem
    grade: str
    why: str


def run_key(summary: Summary) -> str:
    """16 hex digits of a run's identity, or over the name of a file of answers, which may grow; items know their texts.

    Raises a `UsageError` for a file without conversations.
    """
    if summary.manifest is None and not (summary.responses and summary.responses.gradable):
        raise UsageError(f"{summary.path}: a results file has no conversations, which a rater must read; give a run")
    if summary.responses:
        return _digest("file", summary.benchmark, Path(summary.path).name)
    assert summary.manifest, "a run has one"
    return summary.manifest.identity.digest()[:16]


def items_of(declared: Benchmark[Any, Any], summaries: Sequence[Summary]) -> tuple[StudyItem, ...]:
    """What people can rate of runs of one benchmark: each part of each response of the first epoch, run by run.

    Raises a `UsageError` where a run is of another benchmark, is named twice, or has no response; a `RunError` if
    damaged.
    """
    keys = list[str]()
    for summary in summaries:
        if summary.benchmark != declared.name:
            raise UsageError(f"{summary.path}: a run of {summary.benchmark}, and the others are of {declared.name}")
        if run_key(summary) in keys:
            raise UsageError(f"{summary.path}: the same run as {summaries[keys.index(run_key(summary))].path}")
        keys.append(run_key(summary))
    items = list[StudyItem]()
    for run, summary in zip(keys, summaries, strict=True):
        answered = (outcome for outcome in summary.outcomes if outcome.epoch == 1 and outcome.response is not None)
        readings = [Reading.of(outcome, summary.benchmark) for outcome in answered]
        for reading, part in product(readings, parts_of(declared)):
            (sections, criteria), case = _parted(reading.sections, part), reading.outcome.key
            key, sections = _digest(run, case, part.name), (*sections, *reading.details)
            items.append(StudyItem(key, run, case, part, sections, criteria, (reading.answer or "",)))
    if not items:
        raise UsageError(f"{', '.join(summary.path for summary in summaries)}: there is no response to rate")
    return tuple(items)


def pairs_of(declared: Benchmark[Any, Any], a: Summary, b: Summary) -> tuple[StudyItem, ...]:
    """Cases to which both runs responded, not alike, as two responses to choose between; raises as `items_of` does."""
    items, part = items_of(declared, (a, b)), parts_of(declared)[0]
    rated = [item for item in items if item.part == part]
    first, second = ({item.case: item for item in rated if item.run == run_key(summary)} for summary in (a, b))
    paired = [
        replace(
            item,
            key=_digest(run := f"{item.run}+{other.run}", item.case, PREFERENCE.name),
            run=run,
            part=PREFERENCE,
            criteria=(),
            responses=item.responses + other.responses,
        )
        for case, item in first.items()
        if (other := second.get(case)) and other.responses != item.responses
    ]
    if not paired:
        raise UsageError(f"{a.path}, {b.path}: no case has two responses that differ")
    return tuple(paired)


def briefing_of(declared: Benchmark[Any, Any], items: Iterable[StudyItem]) -> dict[str, Any]:
    """What the pages say before the first item.

    It is of the benchmark, `declared`, of those of its `parts` whose grades mean the same in every case, and whether
    there are `criteria` beside a response.
    """
    parts, criteria = [part for part in parts_of(declared) if part.criteria], any(item.criteria for item in items)
    return {"declared": declared, "parts": parts, "criteria": criteria}


def rated_of(declared: Benchmark[Any, Any], summaries: Sequence[Summary], kind: Kind) -> tuple[StudyItem, ...]:
    """What a study of this kind rates of runs; raises as `items_of` does, and where pairs are not of two runs."""
    if kind == "grades":
        return items_of(declared, summaries)
    if len(summaries) != 2:
        raise UsageError(f"pairs are of the responses of two runs, not of {len(summaries)}")
    return pairs_of(declared, *summaries)


def practice_of(declared: Benchmark[Any, Any], seed: int) -> tuple[Practice, ...]:
    """Worked cases to practise on, the grades by turns and otherwise by chance; none where none are declared."""
    main = next((part for part in parts_of(declared) if not part.name), None)
    if main is None:
        return ()
    by_grade: dict[str, list[WorkedCase]] = {level: [] for level in main.levels}
    for worked in sorted(worked_cases_of(declared), key=lambda worked: _digest(str(seed), worked.name)):
        by_grade[worked.label].append(worked)
    rounds = (cases[number] for number in range(_PRACTICE) for cases in by_grade.values() if number < len(cases))
    reporting, made = reporting_of(declared.name), list[Practice]()
    for worked in islice(rounds, _PRACTICE):
        sections, criteria = _parted(tuple(reporting.sections(worked.case.view.model_dump(mode="json"))), main)
        answer = reporting.answer(answer_text(worked.answer.model_dump(mode="json")))
        key = _digest("practice", worked.name)
        sections = (*sections, *reporting.details(worked.case.meta))
        item = StudyItem(key, "", worked.name, main, sections, criteria, (answer,))
        made.append(Practice(item, worked.label, worked.why or worked.rule))
    return tuple(made)


def _parted(sections: tuple[PageSection, ...], part: Part) -> tuple[tuple[PageSection, ...], Criteria]:
    """The sections before the response, and the criteria: the section whose terms are levels, else the part's own."""
    terms = (section for section in sections if section.kind == "terms" and section.items)
    own = next((section for section in terms if {*dict(section.items)} <= {*part.levels}), None)
    meanings = dict(own.items) if own else part.criteria
    criteria = tuple((level, meanings[level]) for level in reversed(part.levels) if level in meanings)
    return tuple(section for section in sections if section is not own), criteria


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]
