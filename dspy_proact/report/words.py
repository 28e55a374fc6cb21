from dataclasses import fields, replace
from typing import TypeVar

from dspy_proact.runs import Nouns
from dspy_proact.stats import Estimate, Figure, Paired, Repeats

Number = TypeVar("Number", Estimate, Figure[int], Figure[float])


def worded(number: Number, nouns: Nouns) -> Number:
    """A number whose reason speaks of a benchmark's own things, where `stats` says cases, strata and groups."""
    return replace(number, reason=nouns.worded(number.reason)) if number.reason else number


def worded_pair(paired: Paired, nouns: Nouns) -> Paired:
    """Likewise of a difference and of its p value."""
    reason = nouns.worded(paired.reason) if paired.reason else None
    return replace(paired, difference=worded(paired.difference, nouns), reason=reason)


def worded_repeats(repeats: Repeats, nouns: Nouns) -> Repeats:
    """Likewise of the variances, and of what repeating is worth."""
    return replace(repeats, **{each.name: worded(getattr(repeats, each.name), nouns) for each in fields(repeats)})
