"""What a compile will take at most, before a call is made, and what its labels can show."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dspy_proact.benchmarks.proactbench import VERDICT_TOKENS
from dspy_proact.compile.effort import PROPOSALS
from dspy_proact.compile.folds import grouped_folds, split
from dspy_proact.compile.judge.compiling import Plan
from dspy_proact.compile.judge.labels import Labelled
from dspy_proact.models import Model, count_tokens
from dspy_proact.programs import Judge

_POWER = ((60, 0.42), (120, 0.23), (200, 0.18), (400, 0.14))
"""Labels, and the gain in kappa that is shown in four compiles of five, by simulation with reliable raters."""


@dataclass(frozen=True)
class CompileEstimate:
    """The most that a compile takes; what DSPy remembers is not asked again, so that it is often far less."""

    judge_calls: int
    proposer_calls: int
    prompt_tokens: int
    """Of the judge's calls; demos make prompts longer than that."""
    completion_tokens: int
    usd: float | None
    """None where the price is not known."""
    labels: int
    smallest_gain: float | None
    """Smallest gain in within-phase quadratic kappa that these labels show in four compiles of five, about; None
    where they are too few for any claim."""


def estimate(judge: Model, items: Sequence[Labelled], plan: Plan, start: Judge) -> CompileEstimate:
    """Count what each part of the compile asks."""
    folds = grouped_folds(items, plan.folds, plan.effort.seed)
    calls = len(items) * plan.votes
    for train in [*(fold.train for fold in folds), items]:
        learn, compare = split(train, plan.effort.seed)
        calls += plan.effort.answers_at_most(len(learn), len(compare)) + len(train) * plan.votes
    calls += len(items) * plan.votes
    prompts = [count_tokens(judge.name, start.messages(item.view, item.response)) for item in items]
    prompt = round(calls * sum(prompts) / len(prompts))
    completion = calls * VERDICT_TOKENS[1]
    proposed = PROPOSALS[plan.effort.optimizer] * (len(folds) + 1)
    usd = judge.price.of(prompt, completion)
    return CompileEstimate(calls, proposed, prompt, completion, usd, len(items), smallest_gain(len(items)))


def smallest_gain(labels: int) -> float | None:
    """The gain that so many labels show in four compiles of five, between the simulated numbers by a straight line."""
    if labels < _POWER[0][0]:
        return None
    for (fewer, larger), (more, smaller) in pairwise(_POWER):
        if labels <= more:
            return larger + (smaller - larger) * (labels - fewer) / (more - fewer)
    return _POWER[-1][1]
