"""What was found about an answer to a task: by counting ids, and by judges."""

from typing import Literal

from dspy_proact.types import Frozen

FacetWord = Literal["correct", "incorrect", "missing", "n/a"]
Judgment = Literal["CORRECT", "PARTIALLY_CORRECT", "INCORRECT"]
JUDGMENT_SCORES: dict[str, float] = {"CORRECT": 1.0, "PARTIALLY_CORRECT": 0.5, "INCORRECT": 0.0}
"""What each word is worth in the task score."""
STAGE_WEIGHTS: dict[str, float] = {"f1": 0.334, "identification": 0.333, "task": 0.333}
"""Of each stage in the paper's overall."""
ESSENTIAL = ("who_blocked", "who_blocker", "what_task", "why_root_cause")
"""Facets without which nothing is identified."""
FURTHER = ("when_deadline", "where_system", "how_mechanism", "impact_scope")


class FacetGrades(Frozen):
    """How a description does in each facet of the bottleneck."""

    who_blocked: FacetWord
    who_blocker: FacetWord
    what_task: FacetWord
    why_root_cause: FacetWord
    when_deadline: FacetWord
    where_system: FacetWord
    how_mechanism: FacetWord
    impact_scope: FacetWord


class IdentificationVerdict(Frozen):
    """What a judge says of a description."""

    facets: FacetGrades
    judgment: Judgment
    """Its word on the whole, which no score is made of."""
    reasoning: str


class ParametersVerdict(Frozen):
    """What a judge says of the parameters of the right action."""

    judgment: Judgment
    would_resolve: Literal["yes", "partially", "no"]
    missing: tuple[str, ...]
    """Names of expected parameters that are not given."""
    incorrect: tuple[str, ...]
    """Names of parameters that are given wrongly."""
    semantic_matches: tuple[str, ...]
    """Names of parameters that say the same in other words."""
    reasoning: str


class SearchGrade(Frozen):
    """How the evidence that was named does against the right one; all in [0, 1], higher is better."""

    precision: float
    recall: float
    f1: float


class ProbeGrade(Frozen):
    """Everything that was found about an answer."""

    search: SearchGrade
    touched: SearchGrade
    """Of all that its tools returned."""
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
    lacking: tuple[str, ...]
    """Names of parameters that the action taken requires and was not given."""
    overall: float
    """The paper's weighted overall in [0, 1]."""
    solved: bool
    """Strictly end to end: some of the evidence, the whole bottleneck, the whole resolution."""
    faults: tuple[str, ...]
    """Of the answer."""
    oracle: Literal["none", "evidence", "bottleneck"] = "none"
    """What was given away."""

    @property
    def action_right(self) -> bool:
        """Whether the action is the right one."""
        return self.action == self.expected_action
