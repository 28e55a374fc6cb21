"""How answers fail, in the paper's modes: of descriptions by their facets, of resolutions by action and parameters.

    failure       counted among                                        mode
    description   verdicts whose word is not CORRECT                   root_cause, person, deadline, else general
    resolution    those not resolved whole, of bottlenecks that were   wrong_action, parameters_missing,
                  described at least in part                           parameters_wrong

A failure may show several modes. As published, `person` and `root_cause` are what is wrong and not what is missing,
`deadline` is either. The paper tells a wrong action from a judge's word on whether it would resolve anything; here the
ids tell it. An answer that describes nothing shows `nothing`, which the paper does not count.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.benchmarks.probe.corpus.grade import ProbeGrade
from dspy_proact.report.document import document
from dspy_proact.report.summary import Summary

OF_DESCRIPTIONS = ("root_cause", "person", "deadline", "general", "nothing")
OF_RESOLUTIONS = ("wrong_action", "parameters_missing", "parameters_wrong")
MODES: Mapping[str, str] = {
    "root_cause": "wrong root cause",
    "person": "wrong person",
    "deadline": "deadline missing or wrong",
    "general": "other",
    "nothing": "nothing described",
    "wrong_action": "wrong action",
    "parameters_missing": "parameters missing",
    "parameters_wrong": "parameters wrong",
}
"""What each mode is called."""
_BINS: tuple[tuple[str, Callable[[float], bool]], ...] = (
    ("0", lambda recall: recall == 0),
    ("up to .25", lambda recall: 0 < recall <= 0.25),
    ("between", lambda recall: 0.25 < recall < 0.75),
    ("from .75", lambda recall: recall >= 0.75),
)


@dataclass(frozen=True)
class RecallBin:
    """Verdicts on answers that found about as much of the evidence."""

    recall: str
    verdicts: int
    correct: int
    """Those whose word is CORRECT."""


@dataclass(frozen=True)
class Failures:
    """How often each mode shows."""

    descriptions: int
    """Descriptions that fail."""
    resolutions: int
    """Resolutions that fail."""
    modes: Mapping[str, int] = field(hash=False)
    """Failures that show each mode."""
    by_recall: tuple[RecallBin, ...]
    """Whether finding more goes with identifying more; of all verdicts, where the paper has failures only."""

    def share(self, mode: str) -> float | None:
        """Of the failures of its kind, in [0, 1]; None where there are none."""
        of = self.descriptions if mode in OF_DESCRIPTIONS else self.resolutions
        return self.modes.get(mode, 0) / of if of else None


def modes_of(grade: ProbeGrade) -> tuple[str, ...]:
    """Every mode that an answer shows."""
    return (*_description_modes(grade), *_resolution_modes(grade))


def failures(summary: Summary) -> Failures:
    """Those of a run, over all of its verdicts."""
    grades = [ProbeGrade.model_validate(verdict.detail) for verdict in summary.verdicts]
    shown = Counter(mode for grade in grades for mode in modes_of(grade))
    told = [grade for grade in grades if grade.oracle != "bottleneck"]
    return Failures(
        descriptions=sum(bool(_description_modes(grade)) for grade in grades),
        resolutions=sum(bool(_resolution_modes(grade)) for grade in grades),
        modes={mode: shown[mode] for mode in MODES},
        by_recall=tuple(_bin(name, [each for each in told if within(each.search.recall)]) for name, within in _BINS),
    )


def failures_document(found: Failures) -> dict[str, Any]:
    """Failures as JSON: counts, and each mode's share of the failures of its kind."""
    return {**document(found), "shares": {mode: found.share(mode) for mode in MODES}}


def _description_modes(grade: ProbeGrade) -> tuple[str, ...]:
    if grade.oracle == "bottleneck":
        return ()
    if grade.identified is None:
        return ("nothing",)
    if grade.identified.judgment == "CORRECT":
        return ()
    facets = grade.identified.facets
    found = {
        "root_cause": facets.why_root_cause == "incorrect",
        "person": "incorrect" in {facets.who_blocked, facets.who_blocker},
        "deadline": facets.when_deadline in {"incorrect", "missing"},
    }
    return tuple(mode for mode, shows in found.items() if shows) or ("general",)


def _resolution_modes(grade: ProbeGrade) -> tuple[str, ...]:
    identified = grade.identified.judgment if grade.identified else "INCORRECT"
    described = grade.oracle == "bottleneck" or identified != "INCORRECT"
    if not described or grade.task == 1:
        return ()
    if not grade.action_right:
        return ("wrong_action",)
    verdict = grade.resolved
    if verdict is None:
        return ("parameters_missing",)
    missing = ("parameters_missing",) if verdict.missing else ()
    wrong = ("parameters_wrong",) if verdict.incorrect or not verdict.missing else ()
    return (*missing, *wrong)


def _bin(name: str, grades: Sequence[ProbeGrade]) -> RecallBin:
    correct = sum(grade.identified is not None and grade.identified.judgment == "CORRECT" for grade in grades)
    return RecallBin(name, len(grades), correct)
