"""PROBE's scores of an answer and what judges say of it, in [0, 1], higher is better (arXiv 2510.19771, evaluator)."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from dspy_proact.benchmarks.probe.settings import OracleName, ProbeSettings
from dspy_proact.benchmarks.probe.task import DATA, PARTS, ProbeView, Solution
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.runs import Scored
from dspy_proact.types import Frozen

FacetWord = Literal["correct", "incorrect", "missing", "n/a"]
Judgment = Literal["CORRECT", "PARTIALLY_CORRECT", "INCORRECT"]
JUDGMENTS: tuple[Judgment, ...] = ("INCORRECT", "PARTIALLY_CORRECT", "CORRECT")
"""From worst to best."""
JUDGMENT_SCORES: dict[str, float] = {"CORRECT": 1.0, "PARTIALLY_CORRECT": 0.5, "INCORRECT": 0.0}
"""What each judgment is worth in the task score."""
STAGE_WEIGHTS: dict[str, float] = {"f1": 0.334, "identification": 0.333, "task": 0.333}
"""Of each stage in the paper's overall."""
ESSENTIAL = ("who_blocked", "who_blocker", "what_task", "why_root_cause")
"""Facets without which nothing is identified."""
FURTHER = ("when_deadline", "where_system", "how_mechanism", "impact_scope")
SOLVED, PARTIAL, FAILED = "SOLVED", "PARTIAL", "FAILED"


class IdentificationVerdict(Frozen):
    """What a judge says of a description."""

    facets: Mapping[str, FacetWord]
    """How it does in each facet of the bottleneck."""
    judgment: Judgment
    """On the whole; no score is made of it."""
    reasoning: str


class ParametersVerdict(Frozen):
    """What a judge says of the parameters of the right action."""

    judgment: Judgment
    would_resolve: Literal["yes", "partially", "no"]
    missing: tuple[str, ...]
    """Names of expected parameters that are not given."""
    incorrect: tuple[str, ...]
    """Names of parameters whose value is wrong."""
    semantic_matches: tuple[str, ...]
    """Names of parameters that mean the same in other words."""
    reasoning: str


class SearchGrade(Frozen):
    """How the named evidence compares with the right one."""

    precision: float
    recall: float
    f1: float


class ProbeGrade(Frozen):
    """Everything that is known about an answer."""

    search: SearchGrade
    touched: SearchGrade
    """Of everything that its tools returned."""
    missed: tuple[str, ...]
    """Ids of right items that are not named."""
    wrong: tuple[str, ...]
    """Ids that are named and not right."""
    unknown: tuple[str, ...]
    """Those of them that are of no item."""
    identification: float
    """0, 0.5 or 1, from the facets."""
    identified: IdentificationVerdict | None
    """None where no judge was asked: nothing was described, or an oracle described it."""
    action: str
    """The action that was taken; empty for none."""
    expected_action: str
    task: float
    """0, 0.5 or 1: action and parameters."""
    resolved: ParametersVerdict | None
    """None where no judge was asked: the action is wrong, or has none of its parameters."""
    overall: float
    """The paper's weighted mean of the three stages."""
    solved: bool
    """Strictly end to end: some of the evidence, the whole bottleneck, the whole resolution."""
    faults: tuple[str, ...]
    """Of the answer."""
    oracle: OracleName = "none"
    """What was given away."""

    @property
    def action_right(self) -> bool:
        """Whether the action is the right one."""
        return self.action == self.expected_action


def graded(
    view: ProbeView,
    solution: Solution,
    settings: ProbeSettings,
    identified: IdentificationVerdict | None,
    resolved: ParametersVerdict | None,
) -> Scored[ProbeGrade]:
    """Grade an answer, with the verdicts of the judges that were asked; what is missing in it earns 0.

    SOLVED is strictly end to end, FAILED an answer of which no stage earned anything.
    """
    gold, known = view.gold, {item.id for item in view.items}
    search, identification = search_scores(gold.evidence, solution.evidence), 0.0
    if settings.oracle == "bottleneck":
        identification = 1.0
    elif identified:
        facets = None if settings.upstream_rule else gold.facets
        inapplicable = facets and [name for name in identified.facets if getattr(facets, name) is None]
        identification = identification_score(identified.facets, inapplicable)
    task = JUDGMENT_SCORES[resolved.judgment] if resolved and solution.action == gold.action else 0.0
    grade = ProbeGrade(
        search=search,
        touched=search_scores(gold.evidence, solution.touched),
        missed=tuple(id_ for id_ in gold.evidence if id_ not in solution.evidence),
        wrong=tuple(id_ for id_ in solution.evidence if id_ not in gold.evidence),
        unknown=tuple(id_ for id_ in solution.evidence if id_ not in known),
        identification=identification,
        identified=identified,
        action=solution.action,
        expected_action=gold.action,
        task=task,
        resolved=resolved,
        overall=overall_score({"f1": search.f1, "identification": identification, "task": task}),
        solved=search.f1 > 0 and identification == 1 and task == 1,
        faults=solution.faults,
        oracle=settings.oracle,
    )
    label = SOLVED if grade.solved else PARTIAL if grade.overall > 0 else FAILED
    return Scored(grade.overall, label, grade, parts=parts_of(grade, solution))


def parts_of(grade: ProbeGrade, solution: Solution) -> Mapping[str, float]:
    """The numbers that measures are made of; those that begin with `read_` only for answers that could be read."""
    scores = {"f1": grade.search.f1, **{name: getattr(grade, name) for name in ("identification", "task", "overall")}}
    unread, judged = set(grade.faults) >= set(PARTS), grade.identified
    return {
        "precision": grade.search.precision,
        "recall": grade.search.recall,
        **scores,
        "end_to_end": float(grade.solved),
        "touched_recall": grade.touched.recall,
        "touched_f1": grade.touched.f1,
        **({} if unread else {f"read_{name}": score for name, score in scores.items()}),
        **({"label_mismatch": float(JUDGMENT_SCORES[judged.judgment] != grade.identification)} if judged else {}),
        "unknown_ids": float(len(grade.unknown)),
        "faulty": float(bool(grade.faults)),
        "turns": float(solution.turns),
    }


def search_scores(gold: Iterable[str], named: Iterable[str]) -> SearchGrade:
    """Precision, recall and F1 of ids as sets; an id of no item is wrong, and what would divide by 0 is 0."""
    right, answered = set(gold), set(named)
    hits = len(right & answered)
    precision, recall = hits / len(answered) if answered else 0.0, hits / len(right) if right else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return SearchGrade(precision=precision, recall=recall, f1=f1)


def identification_score(facets: Mapping[str, str], inapplicable: Collection[str] | None = None) -> float:
    """The paper's two tiers: an essential facet that is not right 0; all eight right 1; else 0.5.

    A facet is right that is `correct`, or `n/a` where it may be: where it is among `inapplicable`, the facets that gold
    has none of. By the published rule (None) every further facet may be `n/a` and no essential one.
    """
    may_not_apply = FURTHER if inapplicable is None else inapplicable
    right = {name for name, word in facets.items() if word == "correct" or (word == "n/a" and name in may_not_apply)}
    return 0.0 if not right.issuperset(ESSENTIAL) else 1.0 if right.issuperset(FURTHER) else 0.5


def overall_score(stages: Mapping[str, float]) -> float:
    """The paper's weighted mean of `f1`, `identification` and `task`."""
    return sum(weight * stages[name] for name, weight in STAGE_WEIGHTS.items())


def levels(scored: Scored[ProbeGrade]) -> dict[str, str]:
    """The judgment of each judge that was asked, each facet of a description, and what parameters would do."""
    grade, parts = scored.detail, dict[str, str]()
    if grade.identified:
        parts |= {"description": grade.identified.judgment, **grade.identified.facets}
    if grade.resolved:
        parts |= {"parameters": grade.resolved.judgment, "would_resolve": grade.resolved.would_resolve}
    return parts


def authors_grades() -> Iterator[HumanGrade]:
    """Grades that the sample's authors gave by hand: four descriptions and four sets of parameters a task.

    Of a description its judgment and each facet, of parameters their judgment and whether they would resolve. Each is
    an answer with nothing else in it.
    """
    for kind in ("descriptions", "parameters"):
        for line in (DATA / "sample" / f"graded_{kind}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            answer = Solution.model_validate(row["answer"])
            for part, level in row["grades"].items():
                yield HumanGrade(row["task"], answer, level, "authors", part, item=row["key"])
