"""The judge as what is tuned: to rated items, by agreement with people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean

import dspy

from dspy_proact.benchmarks.proactbench.compile.judge.case_guard import CaseGuard
from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN, fitted, level_of
from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS, Labelled
from dspy_proact.benchmarks.proactbench.compile.judge.metric import AgreementMetric
from dspy_proact.benchmarks.proactbench.compile.judge.training import PROPOSAL, JudgeTraining
from dspy_proact.benchmarks.proactbench.compile.judge.votes import Votes, vote
from dspy_proact.benchmarks.proactbench.corpus import JudgeCase
from dspy_proact.benchmarks.proactbench.programs import CasesRight, Judge
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.folds import Fold, split, tested_folds
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.programs import Recipe
from dspy_proact.programs.artefact import Cuts


@dataclass(frozen=True)
class CutJudge:
    """A judge, and from where on the mean level of its verdicts is PARTIAL and PASS."""

    judge: Judge
    cuts: Mapping[Phase, Cuts] = field(default_factory=lambda: PLAIN)
    cases: CasesRight | None = None
    """What the guard found; None without it."""


@dataclass(frozen=True)
class Graded:
    """What a judge made of one rated item."""

    votes: Votes
    level: int | None
    """FAIL 0, PARTIAL 1, PASS 2, by the cuts; None where no verdict could be read."""


@dataclass(frozen=True)
class JudgeTask:
    """How a judge is tuned to ratings.

    Args:
        start: Where tuning starts.
        items: Labelled responses.
        recipe: Folds, seed and optimizer.
        judge_lm: The model under the judge.
        proposer_lm: Writes instructions.
        votes: Verdicts on each response.
        width: Responses at once.
        guarded: Worked cases of which none that the start gets right may be lost; empty for no guard.
    """

    start: CutJudge
    items: Sequence[Labelled]
    recipe: Recipe
    judge_lm: dspy.LM
    proposer_lm: dspy.LM
    votes: int = 1
    width: int = 1
    guarded: Sequence[JudgeCase] = ()
    role: str = "judge"

    def folds(self) -> tuple[Fold[Labelled], ...]:
        """Folds of whole personas, or of scenarios where no persona is known."""
        return tested_folds(self.items, self.recipe.folds, self.recipe.seed)

    def training(self, train: Sequence[Labelled], before: Mapping[str, Graded]) -> JudgeTraining:
        """A third of the units, about, is compared on; answers shown rest on the start's verdicts on the others."""
        learn, compare = split(train, self.recipe.seed)
        items = [*learn, *compare]
        return JudgeTraining(
            student=self.start.judge.deepcopy(),
            learn=[item.example for item in learn],
            compare=[item.example for item in compare],
            groups={item.key: item.scenario for item in items},
            task_lm=self.judge_lm,
            proposer_lm=self.proposer_lm,
            proposal=PROPOSAL,
            width=self.width,
            items={item.key: item for item in items},
            metric=AgreementMetric(items),
            answers=[item.worked(next(iter(before[item.key].votes.read), None)) for item in learn],
            cuts=self.start.cuts,
            guard=CaseGuard(self.guarded, self.judge_lm, self.votes, self.width) if self.guarded else None,
        )

    def finished(self, chosen: Chosen[Judge], training: JudgeTraining) -> CutJudge:
        """The judge with the cuts that its verdicts call for, on responses of which none is shown in it.

        They are the ones that candidates were compared on: their verdicts are there already. In a phase where they
        would lose a guarded case the start's cuts stay.
        """
        judge = chosen.program
        items = [training.items[example.key] for example in training.compare]
        work = [partial(vote, judge, item.view, item.response, self.judge_lm, self.votes) for item in items]
        votes = side_by_side(work, self.width)
        cuts = fitted(items, [each.level for each in votes], self.recipe.seed)
        if training.guard is None:
            return CutJudge(judge, cuts)
        given, before = training.guard.given(judge), training.right_at_start
        kept = training.guard.kept(given, before, cuts, self.start.cuts)
        right = len(before), len(training.guard.right(given, kept)), len(self.guarded)
        dropped = sum(bool(guards) for guards in chosen.broken.values())
        return CutJudge(judge, kept, CasesRight(before=right[0], after=right[1], of=right[2], dropped=dropped))

    def test(self, tuned: CutJudge, item: Labelled) -> Graded:
        """A judge's verdicts on a response, and their level by its cuts."""
        votes = vote(tuned.judge, item.view, item.response, self.judge_lm, self.votes)
        return Graded(votes, level_of(votes, tuned.cuts[item.phase]))

    def score(self, results: Mapping[str, Graded], items: Sequence[Labelled]) -> float | None:
        """Mean metric by the labels of these items; what could not be read scores 0."""
        metric = AgreementMetric(items)
        levels = [(item, results[item.key].level) for item in items]
        return fmean(0.0 if level is None else metric.score(item, LEVELS[level]) for item, level in levels)
