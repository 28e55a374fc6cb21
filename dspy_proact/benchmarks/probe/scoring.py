"""The scores of PROBE: pure functions of ids and of what judges say. All are in [0, 1], higher is better.

Source: the paper (arXiv 2510.19771) and its evaluator.
"""

from collections.abc import Collection, Iterable, Mapping

from dspy_proact.benchmarks.probe.corpus.grade import ESSENTIAL, FURTHER, JUDGMENT_SCORES, STAGE_WEIGHTS, SearchGrade


def search_scores(gold: Iterable[str], named: Iterable[str]) -> SearchGrade:
    """Precision, recall and F1 of ids as sets; an id that is of no item counts as wrong.

    Nothing named: precision 0. No right item: everything 0. Precision and recall 0: F1 0.
    """
    right, said = set(gold), set(named)
    hits = len(right & said)
    precision, recall = hits / len(said) if said else 0.0, hits / len(right) if right else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return SearchGrade(precision=precision, recall=recall, f1=f1)


def identification_score(facets: Mapping[str, str], inapplicable: Collection[str] | None = None) -> float:
    """The paper's two tiers: an essential facet that is not right 0; all eight right 1; else 0.5.

    A facet is right that is `correct`, or `n/a` where it may be; one that is not there is missing.

    Args:
        facets: By name `correct`, `incorrect`, `missing` or `n/a`.
        inapplicable: Facets that gold has none of, which alone may be `n/a`. None for the published rule, by which
            every further facet may and no essential one.
    """
    excused = FURTHER if inapplicable is None else inapplicable

    def right(name: str) -> bool:
        word = facets.get(name, "missing")
        return word == "correct" or (word == "n/a" and name in excused)

    if not all(map(right, ESSENTIAL)):
        return 0.0
    return 1.0 if all(map(right, FURTHER)) else 0.5


def judgment_score(judgment: str) -> float:
    """What a judge's word is worth; 0 for a word that is none of the three."""
    return JUDGMENT_SCORES.get(judgment, 0.0)


def task_score(taken: str, right: str, parameters: str | None) -> float:
    """1, 0.5 or 0 by the judge's word on the parameters; 0 where the action is not the right one, letter by letter.

    Args:
        taken: Id of the action.
        right: Likewise.
        parameters: The word; None where there are no parameters to judge.
    """
    return judgment_score(parameters) if taken == right and parameters else 0.0


def overall_score(f1: float, identification: float, task: float) -> float:
    """The paper's weighted mean of the three stages."""
    stages = {"f1": f1, "identification": identification, "task": task}
    return sum(weight * stages[name] for name, weight in STAGE_WEIGHTS.items())


def is_solved(f1: float, identification: float, task: float) -> bool:
    """Strictly end to end, which is ours: some of the evidence, the whole bottleneck, the whole resolution."""
    return f1 > 0 and identification == 1 and task == 1
