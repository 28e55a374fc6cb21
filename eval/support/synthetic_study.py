"""Rated responses whose grade follows a known rule, to see what compiling a judge is worth.

Every response has one step that moves things forward, among sentences that do not. The step takes up none to three of
the facts that the user disclosed, and meets none to three of the words that the pass criteria ask for; by these two
counts it stands on a ladder. People draw their lines on the ladder higher than the embedded judge does uncompiled, in
every phase alike, so that a few graded examples can teach it their rule. A person gives a response its true grade or,
by chance, a neighbouring one.

Nothing here says anything about a real model or about real people.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from statistics import NormalDist

import numpy as np

from dspy_proact.benchmarks.proactbench.corpus.rated_items import rated_item
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Rubric, Turn
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.stats.agreement import kappas

LEVELS = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
"""Grades in rising order."""
PHASE_SHARES = {Phase.EMERGENT: 0.4, Phase.CRITICAL: 0.35, Phase.RECOVERY: 0.25}
"""Of the items."""
SLIP = 0.2
"""Probability that a person gives a neighbouring grade: of two people the quadratic kappa is then .6 to .7."""
LIKENESS = 0.15
"""Share in [0, 1] of the variance of a response's quality that its scenario has."""
SCENARIO_SPREAD = 0.8
"""Sigma of the log-normal weights of scenarios."""
RATERS = 6
"""People in a study."""
ITEM = 3
"""Of whom so many rate each response."""


@dataclass(frozen=True)
class Step:
    """What a response's step has in it, and the grade that it truly earns."""

    taken_up: int
    """Facts of the user's that it takes up, 0 to 3."""
    meant: int
    """Words of the pass criteria that it meets, 0 to 3."""
    grade: Grade

    @property
    def strength(self) -> float:
        """What the embedded judge makes of it, in [0.2, 1]; its own lines are at 0.45 and 0.75."""
        return 0.2 + 0.35 * self.taken_up / 3 + 0.45 * self.meant / 3


_RULE = {
    Grade.FAIL: ((0, 0), (0, 2), (1, 2), (1, 2), (0, 3)),
    Grade.PARTIAL: ((3, 1), (3, 2), (2, 3), (2, 3)),
    Grade.PASS: ((3, 3), (3, 3)),
}
LADDER = tuple(Step(taken_up, meant, grade) for grade, rungs in _RULE.items() for taken_up, meant in rungs)
"""Steps in rising strength, each place as likely as the others; near a line of people's a step has two. People see a
FAIL up to a strength of 0.65, a PARTIAL from 0.7 and a PASS at 1."""

_FACTS = (
    ("allergy", "grandmother", "balcony", "marathon", "ankle"),
    ("shift", "mortgage", "boiler", "recital", "passport"),
    ("train", "dinner", "trailer", "wedding", "clock"),
)
"""What a user may disclose, one of each row."""
_CRITERIA = (
    ("insurance", "refund", "reservation", "vaccination", "inspection"),
    ("deadline", "deposit", "permit", "rehearsal", "storage"),
    ("physiotherapist", "landlord", "pharmacist", "accountant", "electrician"),
)
"""What the pass criteria may ask for, one of each row."""
_TASKS = ("email", "timetable", "summary", "budget", "checklist", "speech", "letter", "menu")
_DONE = (
    "Here is the {task} in short form.",
    "The {task} is finished.",
    "I have gone through the {task} line by line.",
    "The {task} reads well.",
)
_FAILING = "The response only returns the {task} and stays silent on everything else."


@dataclass(frozen=True)
class SyntheticItem:
    """A response with its true grade."""

    item: RatedItem
    step: Step
    """On which its true grade rests."""


def synthetic_items(seed: int, count: int = 200, scenarios: int = 25) -> tuple[SyntheticItem, ...]:
    """Responses of scenarios of unequal size, in the order of their keys; the same arguments give the same items.

    Args:
        seed: Where chance comes from.
        count: Number of items, at least that of scenarios.
        scenarios: Number of scenarios; each has at least one item.

    Raises:
        ValueError: There are fewer items than scenarios.
    """
    if not 1 <= scenarios <= count:
        raise ValueError(f"each scenario has an item: {count!r} items cannot be of {scenarios!r} scenarios")
    rng = np.random.default_rng((seed, 0))
    weights = rng.lognormal(0, SCENARIO_SPREAD, scenarios)
    positions = [*range(scenarios), *rng.choice(scenarios, count - scenarios, p=weights / weights.sum())]
    effects = rng.standard_normal(scenarios)
    phases = rng.permutation(np.array(_phases(count), dtype=object))
    return tuple(
        _item(rng, f"item-{number:04}", f"scenario-{index:02}", phase, float(effects[index]))
        for number, (index, phase) in enumerate(zip(sorted(positions), phases, strict=True))
    )


def synthetic_ratings(seed: int, items: Sequence[SyntheticItem]) -> Ratings:
    """What people say of items: the true grade or, by chance, a neighbouring one.

    Args:
        seed: Where chance comes from, apart from that of the items.
        items: To be rated, at least one, each by three of six people.
    """
    rng = np.random.default_rng((seed, 1))
    ratings = tuple(
        HumanGrade(item.item.key, item.item.answer, _seen(rng, item.step.grade), f"rater-{rater}")
        for item in items
        for rater in sorted(rng.choice(RATERS, ITEM, replace=False))
    )
    source = RatingsSource(origin=f"synthetic, seed {seed}", files={})
    return Ratings("synthetic", "proactbench", tuple(item.item for item in items), ratings, source)


def rater_kappa(ratings: Ratings) -> float:
    """Quadratic kappa of one person with another, over all pairs of ratings of an item, in [-1, 1]; nan without any."""
    table = np.zeros((len(LEVELS), len(LEVELS)))
    for rating in ratings.by_item.values():
        for one, other in permutations(rating, 2):
            table[LEVELS.index(one.grade), LEVELS.index(other.grade)] += 1
    return float(kappas(table, "quadratic"))


def permuted_within_phase(ratings: Ratings, seed: int) -> Ratings:
    """The same study with the grades of whole items dealt out anew within each phase: nothing is left to be learned."""
    rng = np.random.default_rng((seed, 2))
    of: dict[str, str] = {}
    for phase in Phase:
        keys = [item.key for item in ratings.items if item.stratum == phase]
        of |= dict(zip(keys, (keys[index] for index in rng.permutation(len(keys))), strict=True))
    return replace(ratings, grades=tuple(replace(row, case=of[row.case]) for row in ratings.grades))


def _phases(count: int) -> list[Phase]:
    """As many of each phase as its share, rounded; the last has the rest."""
    *first, last = PHASE_SHARES
    phases = [phase for phase in first for _ in range(round(PHASE_SHARES[phase] * count))]
    return phases + [last] * (count - len(phases))


def _item(rng: np.random.Generator, key: str, scenario: str, phase: Phase, effect: float) -> SyntheticItem:
    quality = NormalDist().cdf(LIKENESS**0.5 * effect + (1 - LIKENESS) ** 0.5 * float(rng.standard_normal()))
    step = LADDER[min(int(quality * len(LADDER)), len(LADDER) - 1)]
    facts, criteria = ([str(rng.choice(words)) for words in rows] for rows in (_FACTS, _CRITERIA))
    task = str(rng.choice(_TASKS))
    view = JudgeView(conversation=_conversation(facts, task), turn=2, rubric=_rubric(phase, criteria, task))
    response = _response(rng, step, facts, criteria, task)
    return SyntheticItem(rated_item(key, view, response, scenario=scenario, model="synthetic"), step)


def _conversation(facts: Sequence[str], task: str) -> tuple[Turn, Turn]:
    first = Turn(user=f"There is the {facts[0]} to think of, and the {facts[1]}.", assistant="Good to hear from you.")
    return first, Turn(user=f"Then there is the {facts[2]}. Please write the {task}.", assistant=None)


def _rubric(phase: Phase, criteria: Sequence[str], task: str) -> Rubric:
    return Rubric(
        phase=phase,
        pass_criteria=f"The response goes on to {_listed(criteria)}.",
        partial_criteria="The response goes on to one of these.",
        fail_criteria=_FAILING.format(task=task),
    )


def _response(rng: np.random.Generator, step: Step, facts: Sequence[str], criteria: Sequence[str], task: str) -> str:
    """Two sentences that report, and somewhere among them one that goes on."""
    words = [*_some(rng, facts, step.taken_up), *_some(rng, criteria, step.meant)]
    going_on = f"You could consider {_listed(words)}." if words else "You could look further."
    done = [str(text).format(task=task) for text in rng.choice(_DONE, 2, replace=False)]
    done.insert(int(rng.integers(3)), going_on)
    return " ".join(done)


def _some(rng: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    return [words[int(index)] for index in sorted(rng.choice(len(words), count, replace=False))]


def _listed(words: Sequence[str]) -> str:
    *first, last = (f"the {word}" for word in words)
    return f"{', '.join(first)} and {last}" if first else last


def _seen(rng: np.random.Generator, grade: Grade) -> Grade:
    """What a person makes of a response of this grade."""
    slips, up = rng.random() < SLIP, rng.random() < 0.5
    if not slips:
        return grade
    return (Grade.PASS if up else Grade.FAIL) if grade is Grade.PARTIAL else Grade.PARTIAL
