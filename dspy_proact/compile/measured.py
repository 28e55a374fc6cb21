"""What is measured of a program at each case: the rows of its card, and what a `--guard` compares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Any

from pydantic import BaseModel

from dspy_proact.calls import Call
from dspy_proact.compile.target import OutOfFold
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.tuning import CardRows
from dspy_proact.programs.card_rows import MARGIN, MARGINS, Unit
from dspy_proact.programs.item_scores import Kind, ScoreColumn, are_shares
from dspy_proact.runs import CONTROL, Case, Scored
from dspy_proact.stats import is_shown_lower

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Examined:
    """What a program answered at a case, and its grade."""

    answer: BaseModel | None
    """None where there is none that could be used."""
    scored: Scored[Any] | None = None
    """None where the verdict could not be read."""
    tokens: int | None = None
    """Of prompt and answer of all calls that the answer took; None where they were not counted."""
    words: int | None = None

    def part(self, name: str) -> float | None:
        """A part of the score."""
        return self.scored.parts.get(name) if self.scored else None

    @property
    def score(self) -> float | None:
        """In [0, 1], higher is better: no answer is worth nothing, an unread verdict is unknown."""
        return self.scored.score if self.scored else 0.0 if self.answer is None else None

    @property
    def harm(self) -> float | None:
        """At a control case, what is lacking of a full score; None where that is not known."""
        return self.scored and 1 - self.scored.score


@dataclass(frozen=True)
class Measured:
    """A number of every case of a kind, of which a row is made."""

    name: str
    title: str
    cases: Callable[[Sequence[Case]], list[Case]]
    """Those of a card, of some cases."""
    number: Callable[[Examined], float | None]
    unit: Unit = "score"
    of_guard: Callable[[Sequence[Case]], list[Case]] | None = None
    """Those that a guard looks at, where they are others."""
    kind: Kind | None = None
    """Of its column of a card; None where that has none of its own."""

    @property
    def margin(self) -> float:
        """How far it usually may get worse."""
        return MARGINS.get(self.name, MARGIN)

    def guarded(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that a guard looks at."""
        return (self.of_guard or self.cases)(cases)

    def is_broken(
        self, cases: Sequence[Case], start: Mapping[str, Examined], candidate: Mapping[str, Examined], margin: float
    ) -> bool:
        """Whether the mean of a candidate is worse than that of the start by more than a margin.

        The margin of shares, all in [0, 1], is absolute, that of other numbers a part of the start's mean.
        """
        numbers = [[self.number(results[case.key]) for case in self.guarded(cases)] for results in (start, candidate)]
        before, after = map(mean_of, numbers)
        if before is None or after is None or (self.unit == "times" and not before):
            return False
        unit = 1.0 if self.unit != "times" and all(map(are_shares, numbers)) else abs(before)
        worse = before - after if self.unit == "score" else after - before
        return worse > margin * unit + _ROUNDING

    def is_shown_worse(
        self, cases: Sequence[Case], start: Mapping[str, Examined], candidate: Mapping[str, Examined]
    ) -> bool:
        """Whether the scores of a candidate are shown to be lower than those of the start, where both are known."""
        own = [(self.number(start[case.key]), self.number(candidate[case.key]), case) for case in self.cases(cases)]
        known = [(before, after, case) for before, after, case in own if before is not None and after is not None]
        groups = [case.group for *_, case in known]
        return is_shown_lower([before for before, *_ in known], [after for _, after, _ in known], groups)


def measured_of(
    declared: Benchmark[Any, Any], rows: CardRows, cases: Sequence[Case], strata: Sequence[str]
) -> tuple[Measured, ...]:
    """What is measured of a program that is tuned for these strata, at all cases, in the order of its card."""
    there = {case.stratum for case in cases}
    present = [stratum for stratum in declared.strata if stratum in there]
    controls, others = (rows.names.get(name, name) for name in ("controls", "strata"))

    def of(*names: str) -> Callable[[Sequence[Case]], list[Case]]:
        return lambda cases: [case for case in cases if case.stratum in names]

    measured: list[Measured] = []
    if len(present) > 1:
        score = attrgetter("score")
        measured += [Measured(stratum.lower(), stratum, of(stratum), score) for stratum in present]
        rest = [stratum for stratum in present if stratum not in strata]
        measured.append(Measured(others, others, of(*rest), score))
    for measure in declared.measures:
        if measure.statistic == "mean":
            name, (part,) = measure.name, measure.parts
            unit, kind = ("score", "measure") if measure.higher_is_better else ("rate", "rate")
            kind = kind if rows.measures is None or name in rows.measures else None
            title, number = rows.titles.get(name, measure.title), partial(Examined.part, name=part)
            measured.append(Measured(name, title, of(*strata), number, unit, kind=kind))
    if declared.controls:
        title = rows.titles.get("controls", declared.nouns.controls)
        measured.append(Measured(controls, title, of(CONTROL), attrgetter("harm"), "rate", kind="controls"))
    chosen, graded = of(*strata), of(*declared.strata)
    measured.append(Measured("length", "words", graded, attrgetter("words"), "times", chosen, "length"))
    measured.append(Measured("tokens", "tokens", list, attrgetter("tokens"), "times", chosen, "tokens"))
    return tuple(measured)


def guards_of(
    measured: Sequence[Measured], margins: Mapping[str, float | None], cases: Sequence[Case]
) -> tuple[tuple[Measured, float], ...]:
    """What is guarded, with its margin; raises a `UsageError` where a name is none, or has nothing to look at."""
    known, guards = {row.name: row for row in measured}, list[tuple[Measured, float]]()
    for name, margin in margins.items():
        if name not in known:
            raise UsageError(f"`margins={name}`: is no row of the card; they are {', '.join(known)}")
        if not known[name].guarded(cases):
            raise UsageError(f"`margins={name}`: the corpus has no case of it; leave it out")
        guards.append((known[name], known[name].margin if margin is None else margin))
    return tuple(guards)


def columns_of(measured: Sequence[Measured], cases: Sequence[Case], tests: OutOfFold) -> tuple[ScoreColumn, ...]:
    """What a card keeps of each case: its score, and what else is measured of it."""

    def graded(cases: Sequence[Case]) -> list[Case]:
        return [case for case in cases if case.stratum != CONTROL]

    columns = list[ScoreColumn]()
    for own in (Measured("score", "score", graded, attrgetter("score"), kind="score"), *measured):
        if own.kind is not None:
            keys = {case.key for case in own.cases(cases)}
            before, after = (
                tuple(number if case.key in keys else None for case, number in zip(cases, side, strict=True))
                for side in tests.numbers(cases, own.number)
            )
            columns.append(ScoreColumn(kind=own.kind, name=own.name, title=own.title, before=before, after=after))
    return tuple(columns)


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """The mean of the numbers that are known; None where none is."""
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def tokens_of(calls: Sequence[Call]) -> int | None:
    """Tokens of prompts and answers of calls; None where those of an answer were not counted, or there is none."""
    counts = [(call.prompt_tokens, call.completion_tokens) for call in calls if call.error is None]
    known = [prompt + completion for prompt, completion in counts if prompt is not None and completion is not None]
    return sum(known) if known and len(known) == len(counts) else None
