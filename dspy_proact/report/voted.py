"""A judge beside people who voted between two levels, and beside what needs no judge.

What people say of an answer is twofold: the level of their strict majority, against which share, balanced accuracy and
kappa are counted (answers on which they tie are left out of these), and the share of votes for the best level, against
which probabilities are scored. Beside the judge stand two judges that always say the same, and one person, who is set
against the others who voted on the same answer, at answers of three votes or more. Every row speaks of the people who
voted alone: intervals are over groups, and drawing other people would widen them.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from dspy_proact.evaluation.people import Part
from dspy_proact.report.numbers import percent
from dspy_proact.report.terminal import TerminalTable, table
from dspy_proact.stats import Estimate, classification_estimate, cluster_mean, part_mean

SUREST = 0.99
"""The log loss takes no probability as nearer to 1 or 0 than this: one who was sure and wrong would have no mean."""
ONE_PERSON = "one person"
_OTHERS = 3
"""Votes on an answer from which on each is set against the others."""
_COLUMNS = {
    "share, %": "share",
    "balanced": "balanced_accuracy",
    "kappa": "kappa",
    "Brier": "brier",
    "log loss": "log_loss",
}
"""Heads of the table, each with the field."""
TERMS = "majority", "Brier, log loss", ONE_PERSON
"""Those of the table, by which the glossary knows them."""


@dataclass(frozen=True)
class VotedRow:
    """How well somebody says what these people vote; intervals are over groups, and of no other people."""

    name: str
    answers: int
    """With a majority, of all votes or, of one person, of all others."""
    votes: int | None
    """Of one person: how many are set against the others'; each counts as a case. None of a judge."""
    share: Estimate
    """Of these, with the level of the majority, in [0, 1], higher is better."""
    balanced_accuracy: Estimate
    """Mean of the shares at answers of either level, in [0, 1]; 0.5 is chance."""
    kappa: Estimate
    """Cohen's, in [-1, 1]; 0 is chance."""
    brier: Estimate
    """Mean squared distance of a probability from the share of votes, in [0, 1], lower is better."""
    log_loss: Estimate
    """Mean cross-entropy of share and probability, in nats, 0 or more, lower is better."""


@dataclass(frozen=True)
class _Prediction:
    """A level and a probability, beside the votes of people."""

    best: bool
    probability: float
    votes: Sequence[bool]
    """Whether each is for the best level; at least one."""
    group: str
    answer: str
    """Its key."""

    @property
    def share(self) -> float:
        return fmean(self.votes)

    @property
    def log_loss(self) -> float:
        p = min(max(self.probability, 1 - SUREST), SUREST)
        return -(self.share * math.log(p) + (1 - self.share) * math.log(1 - p))


def voted_rows(
    judge: str,
    part: Part,
    raters: int,
    *,
    grades: Mapping[str, Sequence[str]],
    levels: Mapping[str, str],
    likely: Mapping[str, float],
    groups: Mapping[str, str],
) -> tuple[VotedRow, ...]:
    """The judge, both constant judges and one person; nothing where a part has not two levels, or nobody was doubled.

    All are of each answer: people's grades, the judge's levels where a verdict could be read, and how probable the
    judge finds the best level where it says so; else its level counts. `raters` are all who graded, by whom bounds are
    marked.
    """
    if len(part.levels) != 2 or all(len(of_answer) < 2 for of_answer in grades.values()):
        return ()
    worst, best = part.levels
    votes = {key: [grade == best for grade in of_answer] for key, of_answer in grades.items() if key in levels}

    def predicted(is_best: Mapping[str, bool], probabilities: Mapping[str, float]) -> list[_Prediction]:
        return [
            _Prediction(is_best[key], probabilities.get(key, float(is_best[key])), of_answer, groups[key], key)
            for key, of_answer in votes.items()
        ]

    people = [
        _Prediction(vote, float(vote), [*of_answer[:index], *of_answer[index + 1 :]], groups[key], key)
        for key, of_answer in votes.items()
        for index, vote in enumerate(of_answer)
        if len(of_answer) >= _OTHERS
    ]
    whose = f"for {'this rater' if raters == 1 else f'these {raters} raters'} only"
    row = partial(_row, whose)
    return (
        row(judge, predicted({key: levels[key] == best for key in votes}, likely)),
        row(f"always {best}", predicted(dict.fromkeys(votes, True), {})),
        row(f"always {worst}", predicted(dict.fromkeys(votes, False), {})),
        row(ONE_PERSON, people),
    )


def _row(whose: str, name: str, predictions: Sequence[_Prediction]) -> VotedRow:
    decided = [row for row in predictions if row.share != 0.5]
    cases = [[(float(row.share > 0.5), float(row.best))] for row in decided]
    of_decided, of_all = [row.group for row in decided], [row.group for row in predictions]
    nothing = Estimate(None, reason="no answer with a majority")
    limits = (0.0, -math.log(1 - SUREST))
    estimates = {
        "share": cluster_mean([float(true == level) for ((true, level),) in cases], of_decided),
        "balanced_accuracy": classification_estimate(cases, of_decided, "balanced_accuracy") if cases else nothing,
        "kappa": classification_estimate(cases, of_decided, "kappa") if cases else nothing,
        "brier": cluster_mean([(row.probability - row.share) ** 2 for row in predictions], of_all),
        "log_loss": part_mean([row.log_loss for row in predictions], of_all, bounds=limits),
    }
    answers, votes = len({row.answer for row in decided}), len(decided) if name == ONE_PERSON else None
    return VotedRow(name, answers, votes, **{name: one.marked(whose) for name, one in estimates.items()})


def voted_table(rows: Sequence[VotedRow]) -> TerminalTable:
    """One row each."""
    cells = list[list[str]]()
    for row in rows:
        others = map(str, (row.balanced_accuracy, row.kappa, row.brier, row.log_loss))
        count = str(row.answers) if row.votes is None else f"{row.answers} ({row.votes} votes)"
        cells.append([row.name, count, percent(row.share), *others])
    return table(("against the majority", "n", *_COLUMNS), cells)


def voted_notes(rows: Sequence[VotedRow]) -> Iterator[str]:
    """What is wrong with numbers of the table or with their intervals, and why some are not there, each once."""
    concerned = defaultdict[str, dict[str, list[str]]](lambda: defaultdict(list))
    for row in rows:
        for title, field in _COLUMNS.items():
            estimate: Estimate = getattr(row, field)
            for reason in estimate.reason.split("; ") if estimate.reason else ():
                concerned[reason][title].append(row.name)
    for reason, by_column in concerned.items():
        names = list(dict.fromkeys(name for of_column in by_column.values() for name in of_column))
        columns = "" if len(by_column) == len(_COLUMNS) else f"{', '.join(by_column)}"
        whose = "" if len(names) == len(rows) else ", ".join(names)
        yield f"{' of '.join(filter(None, [columns, whose])) or 'against the majority'}: {reason}"
