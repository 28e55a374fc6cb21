"""A compile of the judge from top to bottom: before, fold by fold, on all labels, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import dspy

from dspy_proact.calls import Call, collect_calls
from dspy_proact.compile.effort import Effort
from dspy_proact.compile.folds import Fold, grouped_folds
from dspy_proact.compile.judge.cutting import PLAIN, fitted, levels
from dspy_proact.compile.judge.gold import Gold
from dspy_proact.compile.judge.labels import LEVELS, Labelled
from dspy_proact.compile.judge.metric import AgreementMetric
from dspy_proact.compile.judge.optimizers import Bench
from dspy_proact.compile.judge.verdicts import Votes, vote
from dspy_proact.compile.study import journal
from dspy_proact.programs import Cuts, Judge
from dspy_proact.types import Phase


@dataclass(frozen=True)
class Start:
    """The judge that a compile starts from."""

    judge: Judge
    cuts: Mapping[Phase, Cuts]


@dataclass(frozen=True)
class Plan:
    """How a judge is compiled."""

    effort: Effort
    folds: int = 5
    votes: int = 1


@dataclass(frozen=True)
class Tested:
    """What was said of every item by a judge that never saw its scenario."""

    levels: tuple[int | None, ...]
    """Aligned with the items; None where no verdict could be read."""
    votes: Mapping[str, Votes]
    calls: tuple[Call, ...]
    """That the verdicts took; those that DSPy's memory answered are not among them."""


@dataclass(frozen=True)
class Compiled:
    """What came of a compile."""

    judge: Judge
    """Compiled on all items."""
    cuts: Mapping[Phase, Cuts]
    before: Tested
    after: Tested
    fold_scores: tuple[float, ...]
    """Mean metric of each fold's judge on its test items, by labels of the test items of that fold."""


def compile_judge(
    start: Start,
    items: Sequence[Labelled],
    plan: Plan,
    *,
    judge_lm: dspy.LM,
    proposer_lm: dspy.LM,
    journals: Path | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Compiled:
    """Compile and test out of fold, then compile on all items.

    Worked examples rest on the start's verdicts on training items; nothing of a test item reaches its fold's judge.

    Args:
        start: Stays as it is.
        items: Of the study.
        plan: Optimizer, folds and votes.
        judge_lm: Is tuned.
        proposer_lm: Writes instructions.
        journals: Folder in which studies are written down.
        told: Is given a line now and then.

    Raises:
        UsageError: There are fewer personas or scenarios than folds.
        Halt: A limit was reached, the provider is down, or the person asked to stop.
    """
    folds = grouped_folds(items, plan.folds, plan.effort.seed)
    told(f"{len(items)} labelled responses, {len(folds)} folds: grading with the judge as it is")
    with collect_calls() as calls:
        said = vote(start.judge, items, plan.votes, judge_lm)
    before = Tested(tuple(levels(items, said, start.cuts)), said, tuple(calls))
    spent: list[Call] = []
    tested: dict[str, tuple[int | None, Votes]] = {}
    scores: list[float] = []
    for number, fold in enumerate(folds, start=1):
        told(f"fold {number} of {len(folds)}: compiling on {len(fold.train)}, testing on {len(fold.test)}")
        bench = _bench(plan.effort, said, fold.train, (judge_lm, proposer_lm), journal(journals, f"fold-{number}"))
        judge, cuts = _one(bench, start, fold.train, plan)
        with collect_calls() as calls:
            votes = vote(judge, fold.test, plan.votes, judge_lm)
        spent += calls
        given = levels(fold.test, votes, cuts)
        tested |= {item.key: (level, votes[item.key]) for item, level in zip(fold.test, given, strict=True)}
        scores.append(_score(fold, given))
    told(f"compiling on all {len(items)}")
    bench = _bench(plan.effort, said, items, (judge_lm, proposer_lm), journal(journals, "all"))
    judge, cuts = _one(bench, start, items, plan)
    after = Tested(
        tuple(tested[item.key][0] for item in items),
        {item.key: tested[item.key][1] for item in items},
        tuple(spent),
    )
    return Compiled(judge, cuts, before, after, tuple(scores))


def _bench(
    effort: Effort,
    said: Mapping[str, Votes],
    train: Sequence[Labelled],
    lms: tuple[dspy.LM, dspy.LM],
    written: Path | None,
) -> Bench:
    verdicts = {item.key: next(iter(said[item.key].read), None) for item in train}
    return Bench(effort, *lms, Gold(verdicts), written)


def _one(bench: Bench, start: Start, train: Sequence[Labelled], plan: Plan) -> tuple[Judge, Mapping[Phase, Cuts]]:
    """A judge compiled on a training set, with the cuts that its items call for beside its demos."""
    judge = bench.compiled(start.judge, train)
    shown = {(demo.get("turn"), demo.get("response")) for demo in judge.grade.demos}
    rest = [item for item in train if (item.view.turn, item.response) not in shown]
    votes = vote(judge, rest, plan.votes, bench.judge_lm)
    return judge, fitted(rest, votes, plan.effort.seed) if rest else PLAIN


def _score(fold: Fold[Labelled], given: Sequence[int | None]) -> float:
    metric = AgreementMetric(fold.test)
    scores = [
        0.0 if level is None else metric.score(item, LEVELS[level])
        for item, level in zip(fold.test, given, strict=True)
    ]
    return sum(scores) / len(scores)
