"""Which answers of a run people are to rate: drawn by stratum and label, so that it can be drawn again and checked."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from dspy_proact.report.summary import Summary
from dspy_proact.runs import Outcome
from dspy_proact.stats import balanced_order

GAPS = 0.05
"""Share of the drawn that may lack a rating, since nobody knows why they do."""


def ratable(summary: Summary) -> list[Outcome]:
    """The scored outcomes of the first epoch, which ratings are of."""
    return [outcome for outcome in summary.scored if outcome.epoch == 1]


def drawn_keys(summary: Summary, seed: int) -> list[str]:
    """Keys of all cases that can be rated, in an order of which every first part is a draw by stratum and label."""
    cases = ratable(summary)
    places = balanced_order([each.key for each in cases], [(each.stratum, each.label) for each in cases], seed)
    return [cases[place].key for place in places]


def grades_mark(summary: Summary) -> str:
    """8 hex digits over what a draw is made of: keys, strata and labels."""
    told = sorted([each.key, each.stratum, each.label] for each in ratable(summary))
    return hashlib.sha256(json.dumps(told, ensure_ascii=True).encode()).hexdigest()[:8]


def unfair(summary: Summary, rated: set[str], drawn: Sequence[str] | str) -> Mapping[str, str]:
    """Why the rated cases of a stratum do not stand for all of it; nothing where they do, or where all are rated.

    Args:
        summary: Of the run.
        rated: Keys of the cases with a rating.
        drawn: Keys of those that were drawn, in the order of the draw; or why it is not known that they were.
    """
    nouns = summary.nouns
    told: dict[str, str] = {}
    order = [] if isinstance(drawn, str) else list(drawn)
    last = max((place for place, key in enumerate(order) if key in rated), default=-1)
    asked = set(order[: last + 1])
    for stratum in summary.strata:
        keys = {each.key for each in ratable(summary) if each.stratum == stratum}
        own, due = keys & rated, keys & asked
        if own == keys or not own:
            continue
        if isinstance(drawn, str):
            told[stratum] = drawn
        elif others := len(own - due):
            told[stratum] = f"rated {nouns.cases} that were not drawn: {others}"
        elif len(due - own) > GAPS * len(due):
            told[stratum] = f"{len(due - own)} of {len(due)} drawn {nouns.cases} have no rating, and nobody knows why"
    return told
