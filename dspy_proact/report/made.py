"""What is reported alike of any corpus that was made: what is missing, what was repaired, why parts are not in it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dspy_proact.plain_text import encodable, folded
from dspy_proact.report.numbers import counted
from dspy_proact.report.page.scatter import clipped

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


def repair_rows(repeated: Counter[Rule], mended: Counter[Rule], dropped: Counter[Rule]) -> list[Repair]:
    """What broke which rule: what dropped most attempts first."""
    rules = dict.fromkeys([*dropped, *mended, *repeated])
    rows = [Repair(*rule, repeated[rule], mended[rule], dropped[rule]) for rule in rules]
    return sorted(rows, key=lambda row: (-row.dropped, -row.mended, -row.repeated))


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
