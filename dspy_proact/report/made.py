"""What is reported alike of any corpus that was made: what is missing, what was repaired, why parts are not in it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from dspy_proact.plain_text import encodable, folded
from dspy_proact.report.numbers import counted
from dspy_proact.report.page.rendered import marked
from dspy_proact.report.page.scatter import clipped
from dspy_proact.stand_in import demonstration

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


class MadeReport:
    """What a report of any corpus has, whose `made` is what came of its slots."""

    corpus: Any

    @property
    def missing(self) -> int:
        """Slots without an item."""
        return max(0, self.corpus.made.missing)

    @cached_property
    def stand_in(self) -> str:
        """How a sentence begins where the embedded stand-in took part; else empty."""
        models = self.corpus.made.models
        return demonstration((role, identity.model) for role, of in models.items() for identity in of)

    @cached_property
    def repairs(self) -> list[Repair]:
        """What broke which rule: what dropped most attempts first."""
        return repair_rows(self.corpus.made.kept, self.corpus.made.dropped)


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


def written(text: str) -> Markup:
    """A text as it is written."""
    return marked(text, [])


def writers(kept: Any) -> str:
    """Who wrote an item: models by role, with how many answers they gave and how many were not accepted.

    Args:
        kept: An item with its `attempt` and `authors`, each with `role`, `model` and the rules that are `broken`.
    """
    count = Counter((author.role, author.model) for author in kept.authors)
    again = Counter((author.role, author.model) for author in kept.authors if author.broken)
    lines = (
        f"{role}: {model}, {counted(number, 'answer')}"
        + (f", {again[role, model]} not accepted" * bool(again[role, model]))
        for (role, model), number in count.items()
    )
    return "\n".join([f"Attempt {kept.attempt}", *lines])
