"""Studies of raters whose conduct is known, to see what the owner's page says of them.

An item has a latent level, standard normal over the population, of which its scenario has a share. An honest rater sees
it with an error, from a height of their own, and cuts it in three; a strict one's height is far below the others', and
everything else alike. The others go through the same slates, and do with an item what they are named by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dspy_proact.evaluation.benchmark import Part
from dspy_proact.label.assignment import assign
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Given, Study, StudyItem, StudyRun

Conduct = Literal["honest", "strict", "drifting", "careless", "straight", "tiring", "quick"]
"""Drifting: ever more lenient. Careless: grades by chance. Straight: one grade throughout; tiring: from half-way on.
Quick: grades as honest ones do, in a fifth of their time."""
PART = Part("", ("FAIL", "PARTIAL", "PASS"))
CUTS = (-0.3, 0.5)
SCENARIOS, SCENARIO_SHARE = 25, 0.15
ERROR, HEIGHTS = 0.6, 0.25
"""Standard deviations, in units of the level, of what a rater sees and of honest raters' heights."""
STRICT, DRIFT, QUICK = -1.0, 2.0, 0.2
"""The strict rater's height; what the drifting one's height rises by; the quick one's share of others' time."""


@dataclass(frozen=True)
class RatersDesign:
    """How many there are of each."""

    items: int = 120
    each: int = 3
    """Raters of every item."""
    repeated: float = 0.1


@dataclass(frozen=True)
class SimulatedStudy:
    """A study that is rated to the end."""

    store: Store
    items: tuple[StudyItem, ...]
    groups: dict[str, str]
    """Scenario of each case."""


def simulate_raters(
    rng: np.random.Generator, path: Path, conducts: Sequence[Conduct], design: RatersDesign | None = None
) -> SimulatedStudy:
    """Have raters of these conducts, named by their number, rate a new study in a file that is not there yet."""
    design = design or RatersDesign()
    of = Design(each=design.each, raters=len(conducts), repeated=design.repeated)
    study = Study("simulated", (StudyRun("run", "run"),), of)
    items = tuple(StudyItem(f"{n:016x}", "run", f"case {n}", PART, (), (), ("",)) for n in range(design.items))
    store = Store.create(path, study, items)
    scenario = rng.integers(0, SCENARIOS, design.items)
    level = np.sqrt(SCENARIO_SHARE) * rng.standard_normal(SCENARIOS)[scenario]
    level += np.sqrt(1 - SCENARIO_SHARE) * rng.standard_normal(design.items)
    place = {item.key: number for number, item in enumerate(items)}
    for number in range(len(conducts)):
        rater = store.add_rater(f"rater {number}")
        assign(store, rater.number)
    for rater, conduct in zip(store.raters(), conducts, strict=True):
        slate = store.slate(rater.number)
        height = STRICT if conduct == "strict" else HEIGHTS * rng.standard_normal()
        seen = level[[place[each.item] for each in slate]] + height + ERROR * rng.standard_normal(len(slate))
        if conduct == "drifting":
            seen += np.linspace(-DRIFT / 2, DRIFT / 2, len(slate))
        grades = np.count_nonzero(seen[:, None] >= np.array(CUTS), axis=1)
        if conduct == "careless":
            grades = rng.permutation(grades)
        elif conduct in ("straight", "tiring"):
            grades[0 if conduct == "straight" else len(grades) // 2 :] = 1
        seconds = np.exp(3.5 + 0.3 * rng.standard_normal() + 0.5 * rng.standard_normal(len(slate)))
        seconds *= QUICK if conduct == "quick" else 1
        store.give(
            rater.number,
            *(
                Given(each.item, PART.levels[grade], f"{at:032x}", 3, seconds=float(time), repeated=each.repeated)
                for at, (each, grade, time) in enumerate(zip(slate, grades, seconds, strict=True))
            ),
        )
    return SimulatedStudy(store, items, {item.case: f"s{scenario[place[item.key]]}" for item in items})
