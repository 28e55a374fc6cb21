"""DSPy's newer means beside ours, on planted tasks: decisions that state probabilities, and GEPA's samplings.

    python eval/newer_means.py

Decisions: a planted judge believes that a reply stands at a height between grades, and people draw their lines higher
than it does. Asked for a `Literal` grade it draws one from its belief, or gives the likeliest. Asked for a
`dspy.experimental.Score` it states the belief in twentieths: as it is, with normal noise on each logit, anew each time,
or as a model that always states 0.9 for one grade. Both are asked 1, 3 and 5 times; the means are cut by cuts that were
fitted on the other folds, as a compile does it. The figure is the mean agreement with people on 60 items in 10 groups,
over the seeds, with its standard error. Samplings: of how many seeds of `planted.py` GEPA ships the hidden rule, with
as many proposals, by how it draws them.
"""

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, stdev
from typing import Any
from unittest import mock

import dspy
import numpy as np
from dspy.experimental import Score
from gepa.api import optimize
from gepa.strategies.proposal_sampling import PxNSampling, SameParentSampling, SingleMutationSampling
from support.bands import Banded
from support.planted_compiles import Cell, compiled
from support.planted_models import in_form
from support.planted_rules import LEVELS
from support.planted_shop import Task
from support.provider import Received, Scripted, SimulatedProvider

from dspy_proact import Gate, ModelSpec, open_model
from dspy_proact.compile import reflection
from dspy_proact.models import Role
from dspy_proact.stats import apply_cuts, keep_cuts
from dspy_proact.stats.cuts import ordinal_agreement

ITEMS, GROUPS, FOLDS, LINES, WIDTH, TIMES = 60, 10, 5, (1.1, 1.75), 0.5, (1, 3, 5)
STATED: dict[str, float | None] = {
    "as believed": 0.0,
    "with noise 1": 1.0,
    "with noise 2": 2.0,
    "0.9 for one grade": None,
}
"""Standard deviation of the noise on each logit; None for a judge that states 0.9 for its likeliest grade."""
TITLES = {"literal": "`Literal`, drawn", "likeliest": "`Literal`, its likeliest"}
SAMPLINGS = {
    "one parent, one minibatch: ours": SingleMutationSampling(),
    "`SameParentSampling(3)`": SameParentSampling(3),
    "`PxNSampling(2, 2)`": PxNSampling(2, 2),
}
JUDGE = Role("judge", "judge", "verdict", None)
SEEN, SLIP, RATERS, SEEDS = 0.2, 0.1, 3, 10


class StateGrade(dspy.Signature):
    """Grade how definite a shop's reply is."""

    reply: str = dspy.InputField()
    grade: Score[LEVELS] = dspy.OutputField(desc="a grade")  # pyright: ignore


@dataclass
class Judge:
    """A judge that draws its grades, and states probabilities in one of several ways."""

    noise: float | None
    seed: int
    times: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, received: Received) -> Scripted:
        """The same question is answered anew each time it is asked."""
        text = received.body["messages"][-1]["content"]
        self.times[text] += 1
        height = float(text.partition("height ")[2].split()[0])
        belief = [math.exp(-((height - level) ** 2) / (2 * WIDTH**2)) for level in range(len(LEVELS))]
        draw = random.Random(f"{self.seed} {self.times[text]} {text}")
        if received.role == "likeliest":
            return in_form(text, {"grade": LEVELS[belief.index(max(belief))]})
        if received.role == "literal":
            return in_form(text, {"grade": draw.choices(LEVELS, belief)[0]})
        stated = [0.9 if share == max(belief) else 0.05 for share in belief]
        if self.noise is not None:
            stated = [share * math.exp(draw.gauss(0, self.noise)) for share in belief]
        rounded = {str(level): round(20 * share / sum(stated)) / 20 for level, share in enumerate(stated)}
        return in_form(text, {"grade": json.dumps({"probabilities": rounded, "confidence": 0.9})})


def answered(predictor: dspy.Predict, heights: Sequence[float]) -> list[list[float]]:
    """What a judge answers to every item, as many times as it is asked at most."""
    levels = list[list[float]]()
    for number, height in enumerate(heights):
        texts = [f"Reply {number} stands at the height {height:.2f} ."] * max(TIMES)
        grades = [predictor(reply=text, config={"rollout_id": time}).grade for time, text in enumerate(texts, 1)]
        levels.append([LEVELS.index(grade) if isinstance(grade, str) else float(grade) for grade in grades])
    return levels


def agreement(levels: Sequence[Sequence[float]], soft: Sequence[Sequence[float]], times: int) -> float:
    """With people, of the mean of so many answers, by cuts that were fitted out of fold."""
    means, groups = [fmean(row[:times]) for row in levels], [number % GROUPS for number in range(ITEMS)]
    folds, values = [group % FOLDS for group in groups], list[float]()
    for fold in range(FOLDS):
        train, test = ([at for at in range(ITEMS) if (folds[at] == fold) == side] for side in (False, True))
        inner = [groups[at] // FOLDS * FOLDS + folds[at] for at in train]
        cuts = keep_cuts([means[at] for at in train], [soft[at] for at in train], [groups[at] for at in train], inner)
        graded = apply_cuts([means[at] for at in test], cuts)
        values += ordinal_agreement(graded, np.array([soft[at] for at in test])).tolist()
    return fmean(values)


def judged(seed: int) -> dict[tuple[str, int], float]:
    """Agreement of both kinds of answers on the items of a seed, by how they are stated and how often asked."""
    draw = random.Random(seed)
    heights = [draw.uniform(0, 2) for _ in range(ITEMS)]
    soft = list[list[float]]()
    for height in heights:
        level = sum(height >= line for line in LINES)
        grades = [max(0, min(2, level + (draw.choice((-1, 1)) if draw.random() < SLIP else 0))) for _ in range(RATERS)]
        soft.append([grades.count(level) / RATERS for level in range(3)])
    seen = [height + draw.gauss(0, SEEN) for height in heights]
    literal = dspy.Predict("reply -> grade: Literal['POOR', 'FAIR', 'GOOD']")
    score = dspy.Predict(StateGrade)
    table = dict[tuple[str, int], float]()
    for stated, noise in STATED.items():
        kinds = {"literal": literal, "likeliest": literal} if stated == "as believed" else {}
        with SimulatedProvider(Judge(noise, seed)) as provider:
            for name, predictor in {**kinds, "score": score}.items():
                model = open_model(ModelSpec(name="openai/any", api_base=provider.base(name)), JUDGE, Gate())
                with dspy.context(lm=model.lm, disable_history=True):
                    levels = answered(predictor, seen)
                title = TITLES.get(name, f"`Score`, {stated}")
                table |= {(title, times): agreement(levels, soft, times) for times in TIMES}
    return table


def decisions(seeds: Sequence[int]) -> list[str]:
    """The rows of the first table."""
    tables, rows = [judged(seed) for seed in seeds], list[str]()
    for name in dict.fromkeys(name for name, _ in tables[0]):
        values = [[table[name, times] for table in tables] for times in TIMES]
        errors = [stdev(own) / len(own) ** 0.5 if len(own) > 1 else 0.0 for own in values]
        rows.append(" | ".join([name, *(f"{fmean(own):.3f} ± {e:.3f}" for own, e in zip(values, errors, strict=True))]))
    return rows


def sampled(strategy: Any, task: Task, seeds: Sequence[int]) -> str:
    """Of how many seeds the hidden rule is shipped, and the calls that a compile takes."""
    with mock.patch.object(reflection, "optimize", partial(optimize, sampling_strategy=strategy)):
        learnt = [compiled(Cell("gepa", task, False, seed)) for seed in seeds]
    return f"{sum(one.hidden for one in learnt)} of {len(learnt)} | {fmean(one.calls for one in learnt):.0f}"


def samplings(seeds: Sequence[int]) -> list[str]:
    """The rows of the second table."""
    tasks: tuple[Task, ...] = ("cut", "rule")
    return [
        f"{name} | {' | '.join(sampled(strategy, task, seeds) for task in tasks)}"
        for name, strategy in SAMPLINGS.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--only", choices=["decisions", "samplings"])
    options = parser.parse_args()
    seeds = range(1 if options.quick else SEEDS)
    heads = " | ".join(["decision", *(f"asked {times} times" for times in TIMES)])
    tables = {heads: decisions(seeds)} if options.only != "samplings" else {}
    if options.only != "decisions":
        tables["sampling | cut: hidden | calls | rule: hidden | calls"] = samplings(seeds)
    print(Banded(f"{len(seeds)} seeds", tables))


if __name__ == "__main__":
    main()
