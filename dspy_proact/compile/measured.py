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
from dspy_proact.programs.card import CardRow, Unit
from dspy_proact.runs import CONTROL, Case, Scored
from dspy_proact.stats import holm, length_change, score_change, value_change

MARGINS: Mapping[str, float] = {"length": 0.20, "tokens": 0.50}
"""By which part of what they were the words of an answer may grow, and its tokens, the prompt's included."""
MARGIN = 0.05
"""By how much a mean of shares may get worse; any other number, such as a count, by this part of what it was."""
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
    on_card: bool = True

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
        measured.append(Measured(others, others, of(*rest), score, on_card=False))
    for measure in declared.measures:
        if measure.statistic == "mean":
            name, (part,) = measure.name, measure.parts
            on_card = rows.measures is None or name in rows.measures
            title, unit = rows.titles.get(name, measure.title), "score" if measure.higher_is_better else "rate"
            number = partial(Examined.part, name=part)
            measured.append(Measured(name, title, of(*strata), number, unit, on_card=on_card))
    if declared.controls:
        title = rows.titles.get("controls", declared.nouns.controls)
        measured.append(Measured(controls, title, of(CONTROL), attrgetter("harm"), "rate"))
    chosen, graded = of(*strata), of(*declared.strata)
    measured.append(Measured("length", "words", graded, attrgetter("words"), "times", chosen))
    measured.append(Measured("tokens", "tokens", list, attrgetter("tokens"), "times", chosen))
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


def measured_rows(
    declared: Benchmark[Any, Any],
    measured: Sequence[Measured],
    cases: Sequence[Case],
    tests: OutOfFold,
    *,
    strata: Sequence[str],
    seed: int,
) -> list[CardRow]:
    """A row of each measured number; p values are adjusted over strata and over measures.

    `strata` are those that the program was tuned for, whose rows are no cost; `seed` is that of p values.
    """
    rows, measures = list[CardRow](), {measure.name for measure in declared.measures}
    for column in (column for column in measured if column.on_card):
        own = column.cases(cases)
        before, after = tests.numbers(own, column.number)
        values = [value for value in (*before, *after) if value is not None]
        if column.name in measures and not values:
            continue  # of another kind of answers, as set
        kind = {"nouns": declared.nouns, "name": column.name, "title": column.title, "total": len(own)}
        if column.unit != "times" and are_shares(values):
            change = score_change(before, after, [case.group for case in own], seed=seed)
            rows.append(CardRow.of(change, **kind, unit=column.unit, margin=column.margin))
            continue
        known, first, second = tests.both(own, column.number)
        groups = [case.group for case in known]
        if any(value < 0 for value in (*first, *second)):  # no ratio can be told of these
            rows.append(CardRow.of(value_change(first, second, groups), **kind, unit="value"))
        else:
            margin = column.margin if column.unit == "times" else None
            rows.append(CardRow.of(length_change(first, second, groups), **kind, unit="times", margin=margin))
    tuned_for = {stratum.lower() for stratum in strata}
    for names in ({stratum.lower() for stratum in declared.strata}, measures):
        indices = [index for index, row in enumerate(rows) if row.name in names]
        for index, p in zip(indices, holm([rows[index].p for index in indices]), strict=True):
            margin = None if rows[index].name in tuned_for else rows[index].margin
            rows[index] = rows[index].model_copy(update={"p": p, "margin": margin})
    return rows


def are_shares(numbers: Sequence[float | None]) -> bool:
    """Whether the numbers that are known are all in [0, 1], and not counts or lengths."""
    return all(0 <= number <= 1 for number in numbers if number is not None)


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """The mean of the numbers that are known; None where none is."""
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def tokens_of(calls: Sequence[Call]) -> int | None:
    """Tokens of prompts and answers of calls; None where those of an answer were not counted, or there is none."""
    counts = [(call.prompt_tokens, call.completion_tokens) for call in calls if call.error is None]
    known = [prompt + completion for prompt, completion in counts if prompt is not None and completion is not None]
    return sum(known) if known and len(known) == len(counts) else None
