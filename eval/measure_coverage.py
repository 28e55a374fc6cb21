"""Whether the intervals of measures hold near the ends of their scale, of a value at a cost, and beside votes.

    python eval/measure_coverage.py

Decisions: a watcher acts or is silent at moments of streams of unequal length; how often it is right has a stream's
part, normal on the logit scale. Votes: a judge beside these raters, who are the same in every study, on answers of
drawn traces. A number is how often an interval without a mark holds the truth, or, where most are marked, how often a
marked one does; `-`: most are withheld, or some of each. Of how many cases a measure is, and of which raters, is no
mark here. Exits 1 when one without marks is below 93 or above 98 % by more than two standard errors; with 12 streams,
or where some are marked, the methods may err on the side of silence.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from support.bands import COVERAGE, Band, Banded, of_data_sets

from dspy_proact.evaluation.people import Part
from dspy_proact.evaluation.stream import Decision, Rules, decision_measures
from dspy_proact.report.measured import bounds_of, measured
from dspy_proact.report.voted import voted_rows
from dspy_proact.runs import Outcome, VerdictRecord
from dspy_proact.stats import Estimate
from dspy_proact.stats.classification import classification

FEW, WANTED, LARGE = 12, 0.4, 20_000
MEASURES = {measure.name: measure for measure in decision_measures("acted")}
SHOWN = ("precision", "recall", "f1", "balanced_accuracy", "kappa", "false_alarm", "value")
SKILLS = ((0.99, 0.99), (0.97, 0.97), (0.9, 0.9), (0.7, 0.7), (0.05, 0.5), (0.03, 0.99))
"""How often the watcher acts where that is wanted, and is silent where it is not, in a stream like most."""
LEANINGS = np.array([-1.2, -0.4, 0.1, 0.5, 1.0])
"""Of the raters, on the logit scale."""


class Priced(Rules):
    cost: float = 1.0


def logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def chance(level):
    return 1 / (1 + np.exp(-level))


def streams(rng: np.random.Generator, count: int):
    """The stream of each moment, and the part of the stream."""
    sizes = np.maximum(1, np.round(8 * rng.lognormal(-0.32, 0.8, count))).astype(int)
    return np.repeat(np.arange(count), sizes), rng.standard_normal(count)


@dataclass(frozen=True)
class Watcher:
    streams: int
    skill: tuple[float, float]

    def drawn(self, rng: np.random.Generator, count: int):
        stream, of_stream = streams(rng, count)
        lean = of_stream[stream]
        wanted = rng.random(len(stream)) < chance(logit(WANTED) + 0.5 * rng.standard_normal(count)[stream])
        acts, stays = chance(logit(self.skill[0]) + lean), chance(logit(self.skill[1]) + lean)
        return stream, wanted, np.where(wanted, rng.random(len(stream)) < acts, rng.random(len(stream)) >= stays)

    @cached_property
    def truth(self) -> dict[str, float]:
        _, wanted, acted = self.drawn(np.random.default_rng(1), LARGE)
        table = np.array([[[np.sum((wanted == w) & (acted == a)) for a in (False, True)] for w in (False, True)]])
        values = {name: float(classification(table.astype(float), name)[0]) for name in SHOWN[:5]}
        return values | {"false_alarm": 1 - values["precision"], "value": float(np.mean(acted * (2.0 * wanted - 1)))}

    def estimates(self, rng: np.random.Generator) -> dict[str, Estimate]:
        settings, outcomes = Priced(), list[Outcome]()
        for number, (stream, wanted, acted) in enumerate(zip(*self.drawn(rng, self.streams), strict=True)):
            parts = Decision(bool(acted), bool(wanted)).parts(settings.cost)
            verdict = VerdictRecord(label="ANY", score=0.0, verified=None, detail={}, parts=parts)
            outcomes.append(Outcome("all", str(stream), "scored", "ANY", key=str(number), verdicts=(verdict,)))
        own = {name: MEASURES[name].under(settings) for name in SHOWN}
        return {name: measured(measure, outcomes, bounds_of(measure, outcomes)) for name, measure in own.items()}


@dataclass(frozen=True)
class Jury:
    streams: int
    raters: int

    def drawn(self, rng: np.random.Generator, count: int):
        """Of each answer its trace, the votes, and the judge's level: a judge who errs as a rater does."""
        trace, of_trace = streams(rng, count)
        level = 0.7 * of_trace[trace] + 1.5 * rng.standard_normal(len(trace))
        votes = rng.random((len(trace), self.raters)) < chance(level[:, None] + LEANINGS[: self.raters])
        return trace, votes, rng.random(len(trace)) < chance(level)

    @cached_property
    def truth(self) -> dict[str, float]:
        return {name: one.value or 0.0 for name, one in self._rows(np.random.default_rng(1), LARGE // 10).items()}

    def estimates(self, rng: np.random.Generator) -> dict[str, Estimate]:
        return self._rows(rng, self.streams)

    def _rows(self, rng: np.random.Generator, count: int) -> dict[str, Estimate]:
        trace, votes, judged = self.drawn(rng, count)
        words = np.array(["NO", "YES"])
        rows = voted_rows(
            "judge",
            Part("", ("NO", "YES")),
            self.raters,
            grades={str(index): words[own.astype(int)].tolist() for index, own in enumerate(votes)},
            levels={str(index): str(words[int(level)]) for index, level in enumerate(judged)},
            likely={},
            groups={str(index): str(one) for index, one in enumerate(trace)},
        )
        names = ("share", "balanced_accuracy", "kappa", "brier")
        return {f"{row.name} {name}": getattr(row, name) for row in (rows[0], rows[-1]) for name in names}


def cells(job: tuple[Watcher | Jury, int, tuple[int, int]]) -> str:
    kind, count, seed = job
    rng, truth = np.random.default_rng(seed), kind.truth
    held: dict[str, list[tuple[bool, bool]]] = {name: [] for name in truth}
    for _ in range(count):
        for name, one in kind.estimates(rng).items():
            if one.low is None or one.high is None:
                continue
            marks = [mark for mark in (one.reason or "").split("; ") if not mark.startswith(("for these", "over "))]
            held[name].append((not any(marks), one.low - 1e-12 <= truth[name] <= one.high + 1e-12))
    return " | ".join(judged(results, count, kind.streams <= FEW) for results in held.values())


def judged(results: list[tuple[bool, bool]], count: int, may_be_wide: bool) -> str:
    plain, marked = ([holds for is_plain, holds in results if is_plain == wanted] for wanted in (True, False))
    if len(plain) > count / 2:
        band = Band(COVERAGE.low, 1.0) if marked or may_be_wide else COVERAGE
        return band.text(float(np.mean(plain)), len(plain))
    return f"marked {100 * float(np.mean(marked)):.0f}" if len(marked) > count / 2 else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=500, help="data sets in each row")
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--quick", action="store_true", help="40 data sets in four rows")
    options = parser.parse_args()
    count = 40 if options.quick else options.datasets
    watchers = [Watcher(*one) for one in product((FEW, 17, 25), SKILLS)]
    juries = [Jury(*one) for one in product((FEW, 25), (3, 5))]
    if options.quick:
        watchers, juries = [Watcher(17, SKILLS[1]), Watcher(25, SKILLS[3]), Watcher(FEW, SKILLS[-1])], [Jury(25, 3)]
    jobs = [(one, count, (options.seed, index)) for index, one in enumerate([*watchers, *juries])]
    with multiprocessing.Pool() as pool:
        rows = pool.map(cells, jobs, chunksize=1)
    first = [
        f"{one.streams} | {one.skill[0]} | {one.skill[1]} | {row}" for one, row in zip(watchers, rows, strict=False)
    ]
    last = [f"{one.streams} | {one.raters} | {row}" for one, row in zip(juries, rows[len(watchers) :], strict=True)]
    heads = {
        " | ".join(["streams", "acts rightly", "is rightly silent", *SHOWN]): first,
        " | ".join(["traces", "raters", *juries[0].truth]): last,
    }
    print(result := Banded(of_data_sets(count, options.seed), heads))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
