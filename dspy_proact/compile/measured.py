"""What is measured of a program at each case: the rows of its card, and what a `--guard` compares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import dspy
from pydantic import BaseModel

from dspy_proact.calls import Call
from dspy_proact.compile.tuning import Tuning
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.programs.card import Unit
from dspy_proact.runs import CONTROL, Case, Scored

MARGINS: Mapping[str, float] = {"length": 0.20, "tokens": 0.50}
"""By which part of what they were the words of an answer may grow, and its tokens, the prompt's included."""
MARGIN = 0.05
"""By how much any other row may get worse."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Item:
    """A case of a compile."""

    case: Case
    unit: str
    """What folds keep together."""

    @property
    def key(self) -> str:
        """Opaque; examples carry it and nothing else that is not an input of the program."""
        return self.case.key

    @property
    def group(self) -> str:
        """What cases share that are not independent."""
        return self.case.group

    @property
    def is_control(self) -> bool:
        """Whether it needs only a direct answer."""
        return self.case.stratum == CONTROL


@dataclass(frozen=True)
class Examined:
    """What a program answered at a case, and what was found of it."""

    answer: BaseModel | None
    """None where there is none that could be used."""
    scored: Scored[Any] | None = None
    """None where the verdict could not be read."""
    tokens: int | None = None
    """Of prompt and answer of all calls that the answer took; None where they were not counted."""
    words: int | None = None
    prediction: dspy.Prediction | None = None

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
    items: Callable[[Sequence[Item]], list[Item]]
    """Those of a card, of some cases."""
    number: Callable[[Examined], float | None]
    unit: Unit = "score"
    of_guard: Callable[[Sequence[Item]], list[Item]] | None = None
    """Those that a guard looks at, where they are others."""
    on_card: bool = True

    @property
    def margin(self) -> float:
        """How far it usually may get worse."""
        return MARGINS.get(self.name, MARGIN)

    def guarded(self, items: Sequence[Item]) -> list[Item]:
        """The items that a guard looks at."""
        return (self.of_guard or self.items)(items)

    def is_broken(
        self, items: Sequence[Item], start: Mapping[str, Examined], candidate: Mapping[str, Examined], margin: float
    ) -> bool:
        """Whether the mean of a candidate is worse than that of the start by more than a margin."""
        before, after = (
            mean_of([self.number(found[item.key]) for item in self.guarded(items)]) for found in (start, candidate)
        )
        if before is None or after is None or (self.unit == "times" and not before):
            return False
        rise = after / before - 1 if self.unit == "times" else after - before
        return (-rise if self.unit == "score" else rise) > margin + _ROUNDING


def measured_of(
    declared: Benchmark[Any, Any], tuning: Tuning, items: Sequence[Item], strata: Sequence[str]
) -> tuple[Measured, ...]:
    """What is measured of the program of a benchmark, in the order of its card.

    Args:
        declared: The benchmark.
        tuning: How it is compiled.
        items: Every case of the corpus.
        strata: Those that it is tuned for.
    """
    there = {item.case.stratum for item in items}
    present = [each for each in declared.strata if each in there]
    controls, others = (tuning.names.get(name, name) for name in ("controls", "strata"))

    def of(*names: str) -> Callable[[Sequence[Item]], list[Item]]:
        return lambda each: [item for item in each if item.case.stratum in names]

    found: list[Measured] = []
    if len(present) > 1:
        found += [Measured(each.lower(), each, of(each), lambda examined: examined.score) for each in present]
        rest = [each for each in present if each not in strata]
        found.append(Measured(others, others, of(*rest), lambda examined: examined.score, on_card=False))
    shown = tuning.measures
    for measure in declared.measures:
        if measure.statistic == "mean":
            name, (part,) = measure.name, measure.parts
            on_card = shown is None or name in shown
            title, unit = tuning.titles.get(name, measure.title), "score" if measure.higher_is_better else "rate"
            found.append(Measured(name, title, of(*strata), partial(Examined.part, name=part), unit, on_card=on_card))
    if declared.controls:
        title = tuning.titles.get("controls", declared.nouns.controls)
        found.append(Measured(controls, title, of(CONTROL), lambda examined: examined.harm, "rate"))
    chosen, answered = of(*strata), of(*declared.strata)
    found.append(Measured("length", "words", answered, lambda examined: examined.words, "times", chosen))
    found.append(Measured("tokens", "tokens", list, lambda examined: examined.tokens, "times", chosen))
    return tuple(found)


def guarded(
    measured: Sequence[Measured], margins: Mapping[str, float | None], items: Sequence[Item]
) -> tuple[tuple[Measured, float], ...]:
    """What is guarded, with its margin; raises a `UsageError` where a name is none, or has nothing to look at."""
    known, found = {each.name: each for each in measured}, list[tuple[Measured, float]]()
    for name, margin in margins.items():
        if name not in known:
            raise UsageError(f"`margins={name}`: is no row of the card; they are {', '.join(known)}")
        if not known[name].guarded(items):
            raise UsageError(f"`margins={name}`: the corpus has no case of it; leave it out")
        found.append((known[name], known[name].margin if margin is None else margin))
    return tuple(found)


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """The mean of the numbers that are known; None where none is."""
    known = [each for each in numbers if each is not None]
    return fmean(known) if known else None


def tokens_of(calls: Sequence[Call]) -> int | None:
    """Tokens of prompts and answers of calls; None where those of an answer were not counted, or there is none."""
    counts = [(call.prompt_tokens, call.completion_tokens) for call in calls if call.error is None]
    known = [asked + answered for asked, answered in counts if asked is not None and answered is not None]
    return sum(known) if known and len(known) == len(counts) else None
