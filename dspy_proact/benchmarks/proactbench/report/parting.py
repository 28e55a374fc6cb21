"""Where a judge and people part: which items, how far, and why by the reasons of both."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus import RatedItem
from dspy_proact.benchmarks.proactbench.report.study_part import Part
from dspy_proact.benchmarks.proactbench.types import Grade, Rating
from dspy_proact.report.numbers import counted

_TOLD = 10
"""Items that a terminal shows."""
_LONGEST_REASON = 400
"""Characters of a reason there."""


@dataclass(frozen=True)
class Parting:
    """An item on which the judge's score is another than the mean of people's."""

    item: RatedItem
    judge: Grade
    reasons: tuple[str, ...]
    """The judge's, one a verdict; empty where they are not known."""
    ratings: tuple[Rating, ...]
    """People's, with their reasons."""
    difference: float
    """The judge's score minus the mean of people's, in [-1, 1] and not 0: above 0 the judge is the more lenient."""


def partings(part: Part, reasons: Mapping[str, tuple[str, ...]]) -> list[Parting]:
    """Those of the items that are compared, farthest first; equally far ones in the order of the study.

    Args:
        part: Of a study.
        reasons: The judge's, by key of the item.
    """
    found: list[Parting] = []
    for each, judge in zip(part.compared, part.judge, strict=True):
        people = sum(grade.score for grade in each.grades) / len(each.grades)
        difference = judge.score - people
        if abs(difference) > 1e-9:
            found.append(Parting(each.item, judge, reasons.get(each.item.key, ()), each.ratings, difference))
    return sorted(found, key=lambda parting: -round(abs(parting.difference), 9))


def parting_document(parting: Parting) -> dict[str, Any]:
    """One as JSON."""
    item = parting.item
    return {
        "item": item.key,
        "phase": str(item.phase),
        "scenario": item.scenario,
        "turn": item.turn,
        "difference": parting.difference,
        "judge": {"grade": str(parting.judge), "reasons": list(parting.reasons)},
        "people": [
            {"rater": each.annotator, "grade": str(each.grade), "confidence": each.confidence, "reason": each.reason}
            for each in parting.ratings
        ],
    }


def parting_lines(found: Sequence[Parting], compared: int) -> Iterator[str]:
    """The farthest, for a person.

    Args:
        found: All of them, farthest first.
        compared: Items that were.
    """
    if not found:
        return
    some = f"; {_TOLD} of them here, all with --json" if len(found) > _TOLD else ""
    yield f"Where judge and people part, farthest first: {len(found)} of {counted(compared, 'item')}{some}"
    for each in found[:_TOLD]:
        counts = Counter(rating.grade for rating in each.ratings)
        people = ", ".join(f"{grade} {counts[grade]}" for grade in Grade if counts[grade])
        yield f"{each.item.key} ({each.item.phase}): judge {each.judge}, people {people}"
        said = [("judge", reason) for reason in each.reasons]
        said += [(f"{rating.annotator}, {rating.grade}", rating.reason) for rating in each.ratings]
        yield from (f"  {whose}: {_in_short(reason)}" for whose, reason in said if reason.strip())


def _in_short(reason: str) -> str:
    """A reason in one line, its beginning where it is long."""
    text = " ".join(reason.split())
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
