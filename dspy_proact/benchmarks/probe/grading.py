"""From an answer and what judges say of it to a grade."""

from collections.abc import Mapping

from dspy_proact.benchmarks.probe.corpus import Gold
from dspy_proact.benchmarks.probe.corpus.grade import IdentificationVerdict, ParametersVerdict, ProbeGrade
from dspy_proact.benchmarks.probe.scoring import (
    identification_score,
    is_solved,
    judgment_score,
    overall_score,
    search_scores,
    task_score,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.solution import PARTS, Solution
from dspy_proact.benchmarks.probe.view import ProbeView

SOLVED, PARTIAL, FAILED = "SOLVED", "PARTIAL", "FAILED"


def is_described(solution: Solution, settings: ProbeSettings) -> bool:
    """Whether there is a description of the agent's own to judge."""
    return settings.oracle != "bottleneck" and bool(solution.bottleneck.strip())


def is_filled(solution: Solution, gold: Gold) -> bool:
    """Whether there are parameters to judge: the action is right, and not without any where it needs some."""
    return solution.action == gold.action and bool(solution.parameters or not gold.parameters)


def graded(
    view: ProbeView,
    solution: Solution,
    settings: ProbeSettings,
    identified: IdentificationVerdict | None,
    resolved: ParametersVerdict | None,
) -> ProbeGrade:
    """Everything that is found about an answer.

    Args:
        view: The task.
        solution: The answer; what is missing in it earns 0.
        settings: Of the run.
        identified: A judge's verdict where there is something described.
        resolved: Likewise where there is something filled in.
    """
    gold, known = view.gold, {item.id for item in view.items}
    search = search_scores(gold.evidence, solution.evidence)
    identification = _identification(gold, settings, identified)
    task = task_score(solution.action, gold.action, resolved.judgment if resolved else None)
    required = next((action.required for action in view.actions if action.id == solution.action), ())
    return ProbeGrade(
        search=search,
        touched=search_scores(gold.evidence, solution.touched),
        missed=tuple(each for each in gold.evidence if each not in solution.evidence),
        wrong=tuple(each for each in solution.evidence if each not in gold.evidence),
        unknown=tuple(each for each in solution.evidence if each not in known),
        identification=identification,
        identified=identified,
        action=solution.action,
        expected_action=gold.action,
        task=task,
        resolved=resolved,
        lacking=tuple(name for name in required if name not in solution.parameters),
        overall=overall_score(search.f1, identification, task),
        solved=is_solved(search.f1, identification, task),
        faults=solution.faults,
        oracle=settings.oracle,
    )


def label_of(grade: ProbeGrade) -> str:
    """SOLVED strictly end to end, FAILED where no stage earned anything, else PARTIAL."""
    return SOLVED if grade.solved else PARTIAL if grade.overall > 0 else FAILED


def parts_of(grade: ProbeGrade, solution: Solution) -> Mapping[str, float]:
    """The numbers of which measures are made; those that begin with `read_` only of answers that could be read."""
    scores = {
        "f1": grade.search.f1,
        "identification": grade.identification,
        "task": grade.task,
        "overall": grade.overall,
    }
    unread = set(grade.faults) >= set(PARTS)
    read = {} if unread else {f"read_{name}": score for name, score in scores.items()}
    told = grade.identified
    apart = {"apart": float(judgment_score(told.judgment) != grade.identification)} if told else {}
    return {
        "precision": grade.search.precision,
        "recall": grade.search.recall,
        **scores,
        "end_to_end": float(grade.solved),
        "touched_recall": grade.touched.recall,
        "touched_f1": grade.touched.f1,
        **read,
        **apart,
        "unknown_ids": float(len(grade.unknown)),
        "faulty": float(bool(grade.faults)),
        "turns": float(solution.turns),
    }


def _identification(gold: Gold, settings: ProbeSettings, identified: IdentificationVerdict | None) -> float:
    if settings.oracle == "bottleneck":
        return 1.0
    if identified is None:
        return 0.0
    words, facets = identified.facets.model_dump(), gold.facets
    if facets is None or settings.upstream_rule:
        return identification_score(words)
    return identification_score(words, [name for name in words if getattr(facets, name) is None])
