"""What is reported alike of any corpus that was made: what is missing, what was repaired, why parts are not in it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.plain_text import encodable, folded
from dspy_proact.report.numbers import counted
from dspy_proact.report.page.scatter import clipped

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|`[^`]*`")
_NUMBER = re.compile(r" \d+$")
"""Ends the stage of one of several parts."""
Rule = tuple[str, str]
"""A stage, and a reason without its numbers and quotes."""


@dataclass(frozen=True)
class Repair:
    """How often answers broke a rule of a stage, and what came of it."""

    stage: str
    rule: str
    """A reason without its numbers and quotes."""
    repeated: int
    """Answers that were asked for again."""
    mended: int
    """Times that the stage before was repeated."""
    dropped: int
    """Attempts that failed."""


def repair_rows(kept: Iterable[Any], failed: Iterable[Any]) -> list[Repair]:
    """What broke which rule, which is a reason without numbers and quotes: what dropped most attempts first.

    Args:
        kept: Attempts that made an item: `authors`, each with its `stage` and the rules that are `broken`, and `mends`,
            each with the `stage` that could not be used and its `reasons`.
        failed: Attempts that made none, with the `stage` that failed and its `reasons` as well.
    """
    failed = list(failed)
    repeated, mended, dropped = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for attempt in (*kept, *failed):
        for author in attempt.authors:
            repeated.update(_rules(author.stage, author.broken))
        for mend in attempt.mends:
            mended.update(_rules(mend.stage, mend.reasons))
    for attempt in failed:
        dropped.update(_rules(attempt.stage, attempt.reasons))
    rules = dict.fromkeys([*dropped, *mended, *repeated])
    rows = [Repair(*rule, repeated[rule], mended[rule], dropped[rule]) for rule in rules]
    return sorted(rows, key=lambda row: (-row.dropped, -row.mended, -row.repeated))


def _rules(stage: str, reasons: Sequence[str]) -> set[Rule]:
    return {(_NUMBER.sub("", stage), folded(_QUOTED.sub("…", reason))) for reason in reasons}


def commonest_reasons(reasons: Sequence[str]) -> list[tuple[str, int]]:
    """Reasons and how often each is named, the commonest first.

    Of reasons that differ in numbers alone, the first stands for all.
    """
    examples = {folded(reason): reason for reason in reversed(reasons)}
    return [(examples[rule], count) for rule, count in Counter(map(folded, reasons)).most_common()]


def shortfall(lost: str, attempts: int, repairs: Sequence[Repair]) -> str:
    """A caveat of what could not be made, such as `2 tasks`, after so many attempts that failed."""
    because = f", most of them at: {repairs[0].stage}" if attempts else ""
    return f"{lost} could not be made: {counted(attempts, 'attempt')} failed{because}."


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    return clipped(encodable(text), 80)


def across(share: float) -> str:
    """A share in [0, 1] as a length of a figure."""
    return f"{100 * share:.1f}%"


def writer_lines(answers: Iterable[tuple[str, str, bool]]) -> str:
    """Who wrote an item, a line for each role and model.

    Args:
        answers: Of each, role, model, and whether it broke a rule.
    """
    rows = list(answers)
    again = Counter((role, model) for role, model, broken in rows if broken)
    lines = (
        f"{role}: {model}, {counted(count, 'answer')}"
        + (f", {again[role, model]} not accepted" * bool(again[role, model]))
        for (role, model), count in Counter((role, model) for role, model, _ in rows).items()
    )
    return "\n".join(lines)
