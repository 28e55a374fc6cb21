"""The scores of PROBE: pure functions of ids and of what judges say. All are in [0, 1], higher is better.

Source: the paper (arXiv 2510.19771) and its evaluator; where ours differs, `upstream` is the published rule.
"""

from collections.abc import Collection, Iterable, Mapping

from dspy_proact.corpus.probe.grade import ESSENTIAL, FURTHER, JUDGMENT_SCORES, SearchGrade

_WEIGHTS = (0.334, 0.333, 0.333)
"""Of F1, identification and task in the paper's overall."""


def search_scores(gold: Iterable[str], named: Iterable[str]) -> SearchGrade:
    """Precision, recall and F1 of ids as sets; an id that is of no item counts as wrong.

    Nothing named: precision 0. No right item: everything 0. Precision and recall 0: F1 0.
    """
    right, said = set(gold), set(named)
    hits = len(right & said)
    precision, recall = hits / len(said) if said else 0.0, hits / len(right) if right else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return SearchGrade(precision=precision, recall=recall, f1=f1)


def identification_score(
    facets: Mapping[str, str], inapplicable: Collection[str] = (), *, upstream: bool = False
) -> float:
    """The paper's two tiers: an essential facet that is not correct 0; all eight correct or `n/a` 1; else 0.5.

    A facet that is not there counts as missing.

    Args:
        facets: By name `correct`, `incorrect`, `missing` or `n/a`.
        inapplicable: Essential facets that gold has none of, where `n/a` counts as correct.
        upstream: By the published rule no essential facet may be `n/a`.
    """
    excused = set() if upstream else set(inapplicable)
    for name in ESSENTIAL:
        said = facets.get(name, "missing")
        if said != "correct" and not (said == "n/a" and name in excused):
            return 0.0
    return 1.0 if all(facets.get(name, "missing") in {"correct", "n/a"} for name in FURTHER) else 0.5


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
    return sum(weight * score for weight, score in zip(_WEIGHTS, (f1, identification, task), strict=True))


def is_solved(f1: float, identification: float, task: float) -> bool:
    """Strictly end to end, which is ours: some of the evidence, the whole bottleneck, the whole resolution."""
    return f1 > 0 and identification == 1 and task == 1
