"""What the proof of single triggers shows of a corpus: its effect, and what planted assistants pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dspy_proact.benchmarks.proactbench.generation.made import (
    UNSCORED,
    CorpusProof,
    Effect,
    MadeDialogue,
    PlantedCell,
    Sampled,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.stats import Estimate, cluster_mean, part_mean
from dspy_proact.stats.estimate import trial_bounds

FEWEST_TRIGGERS, FEWEST_PERSONAS = 12, 5
"""With fewer of either an effect has no interval."""


def proof_of(dialogues: Sequence[MadeDialogue], tester: str) -> CorpusProof:
    """What the proofs of triggers show together.

    `looking` and `bare` are over all that were tested, kept or not: of those that were kept alone they would be
    flattered, since they chose them. Dialogues of which no trigger was kept are not among them.

    Args:
        dialogues: With their proof, whichever level it is of.
        tester: The model of the fresh answers.
    """
    tests = [
        (dialogue.persona, made.rubric.type, made.proof)
        for dialogue in dialogues
        for made in dialogue.triggers
        if made.proof and made.proof.looking
    ]

    def effects(arms: Callable[[TriggerProof], Sampled | None]) -> dict[str, Effect]:
        rows = [(persona, phase, sampled) for persona, phase, proof in tests if (sampled := arms(proof))]
        names = {"all": rows} | {str(phase): [row for row in rows if row[1] == phase] for phase in Phase}
        return {name: effect_of([(persona, sampled) for persona, _, sampled in of]) for name, of in names.items() if of}

    planted = [dialogue for dialogue in dialogues if dialogue.matrix]
    return CorpusProof(
        tested=sum(made.proof is not None for dialogue in dialogues for made in dialogue.triggers),
        tester=tester,
        fresh=effects(lambda proof: proof.fresh),
        looking=effects(lambda proof: proof.looking),
        bare=effects(lambda proof: proof.bare),
        repeats=sum(proof.repeats for _, _, proof in tests),
        matrix={name: _row(name, planted) for name in PLANTED} if planted else {},
        matrix_dialogues=len(planted),
    )


def effect_of(triggers: Iterable[tuple[str, Sampled]]) -> Effect:
    """The effect of triggers, which count equally, each after its persona, by which they are clustered.

    A trigger without a graded response in either arm is left out. Below 12 triggers or 5 personas there is no interval.
    Where all pass with the anchors and none without, its lower end is that of two exact binomial ones, of one trial a
    persona.
    """
    rows = [(persona, sampled) for persona, sampled in triggers if sampled.shares]
    personas = [persona for persona, _ in rows]
    shares = np.array([sampled.shares for _, sampled in rows], dtype=np.float64).reshape(-1, 2)
    few = _too_few(len(rows), len(set(personas)))
    passes, leaks = (_without_bounds(cluster_mean(column, personas), few) for column in shares.T)
    difference = part_mean(shares[:, 0] - shares[:, 1], personas, bounds=(-1.0, 1.0))
    if difference.value == 1 and not few:
        difference = Estimate(1.0, 2 * trial_bounds(1.0, len(set(personas)))[0] - 1, 1.0, "all values equal")
    return Effect(
        triggers=len(rows),
        personas=len(set(personas)),
        answers=sum(len(arm) for _, sampled in rows for arm in sampled.graded),
        with_anchors=passes,
        without_anchors=leaks,
        difference=_without_bounds(difference, few),
    )


def _too_few(triggers: int, personas: int) -> str | None:
    """Why so few have no interval; None where there are enough."""
    if triggers < FEWEST_TRIGGERS:
        return f"fewer than {FEWEST_TRIGGERS} triggers ({triggers}): no interval"
    return f"fewer than {FEWEST_PERSONAS} personas ({personas}): no interval" if personas < FEWEST_PERSONAS else None


def _without_bounds(estimate: Estimate, reason: str | None) -> Estimate:
    return estimate if reason is None or estimate.value is None else Estimate(estimate.value, reason=reason)


def _row(name: str, dialogues: Sequence[MadeDialogue]) -> Mapping[str, PlantedCell]:
    """A planted assistant's passes by phase, of triggers whose verdict could be used."""
    cells: dict[str, list[str]] = {phase: [] for phase in PLANTED[name]}
    for dialogue in dialogues:
        for made in dialogue.triggers:
            if (grade := dialogue.matrix.get(name, {}).get(made.turn, UNSCORED)) != UNSCORED:
                cells[made.rubric.type].append(grade)
    return {
        phase: PlantedCell(grades.count(Grade.PASS), len(grades), *PLANTED[name][phase])
        for phase, grades in cells.items()
    }
