"""Numbers, counts and intervals as terminal and page print them, and values as JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from pydantic import BaseModel

from dspy_proact.runs import Nouns
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS, Estimate, Paired, enough_for_claim, rounded_points

_MOST_WORDS = 6


def percent(estimate: Estimate) -> str:
    """A share with its interval, in percent."""
    return estimate.text(share, to="–")


def share(value: float | None, digits: int = 1) -> str:
    """A share alone, in percent."""
    return "-" if value is None else f"{100 * value:z.{digits}f}"


def points_of(difference: Estimate) -> str:
    """A difference with its interval, in points of a hundred, signed."""
    return difference.text(signed)


def plain(estimate: Estimate) -> str:
    """A kappa or correlation alone."""
    return "-" if estimate.value is None else f"{estimate.value:z.2f}"


def seen_from(paired: Paired) -> tuple[int, int] | None:
    """True differences, in whole points, detected with 80 % and 50 % power; None where none is, or that is unknown."""
    if paired.detectable is None or paired.detectable_half is None or paired.reason:
        return None
    return rounded_points(paired.detectable), rounded_points(paired.detectable_half)


def bounds(estimate: Estimate, shown: Callable[[float], str] = share) -> str:
    """The 95 % interval in words, each end as shown, with what is wrong with it; or why there is none."""
    if estimate.low is None or estimate.high is None:
        return f"no interval: {estimate.reason}"
    interval = f"95 % {shown(estimate.low)} to {shown(estimate.high)}"
    return f"{interval}, {estimate.reason}" if estimate.reason else interval


def interval(estimate: Estimate, shown: Callable[[float], str] = share) -> str:
    """The 95 % interval in words without what is wrong with it, which is a caveat; or why there is none."""
    return bounds(replace(estimate, reason=None) if estimate.low is not None else estimate, shown)


def marked(estimate: Estimate) -> tuple[str, ...]:
    """What is wrong with an interval, as a caveat of the headline that prints it; nothing where there is none."""
    reason = estimate.reason if estimate.low is not None else None
    return (f"{reason[0].upper()}{reason[1:]}.",) if reason else ()


def letter(run: int) -> str:
    """What a run is called in figures and tables of several: A, B, ..., Z, then 27 and so on."""
    return chr(ord("A") + run) if run < 26 else str(run + 1)


def probability(p: float | None) -> str:
    """A p-value."""
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun; the plural where it takes more than an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def shown_gain(sizes: Sequence[float], nouns: Nouns, gain: tuple[float, float] | None, *, in_kappa: bool = True) -> str:
    """What so many items of each group can show of a compiled program, in a sentence or two.

    `gain` is as `stats.detectable_gain` gives it; None where it is not known or nothing may be claimed.
    """
    items, claim = round(sum(sizes)), f"a claim takes {CLAIM_LABELS} items in {CLAIM_GROUPS} {nouns.groups}"
    labels = f"{counted(items, 'item')} in {counted(len(sizes), nouns.group, nouns.groups)}"
    if not enough_for_claim(items, len(sizes)):
        few = f"{'is' if items == 1 else 'are'} too few to show that tuning helped: {claim}"
        return f"{labels} {few}. They can show how good a program is."
    if gain is None:
        most = f"{round(max(sizes)):,} of them in one"
        return f"{labels}, at most {most}: which gain they can show is not known in advance; {claim} or more."
    few = "both judges err alike" if in_kappa else "few answers get another score"
    few, unit = ("both judges err alike", "in kappa ") if in_kappa else ("few answers get another score", "")
    shown = f"80 % power takes a true gain {unit}of {gain_range(gain, in_kappa=in_kappa)}"
    return f"With {labels}, {shown}, nearer the lower end if {few}; {claim} or more."


def gain_range(gain: tuple[float, float], *, in_kappa: bool) -> str:
    """A range of gains: in kappa, or in points of a mean score."""
    low, high = gain
    return f"{low:.2f} to {high:.2f}" if in_kappa else f"{100 * low:.0f} to {100 * high:.0f} points"


def signed(share: float) -> str:
    """A difference alone, in points of a hundred, with its sign."""
    # Adding 0.0 makes the zero of a rounded negative number a plain one.
    return f"{round(100 * share, 1) + 0.0:+.1f}" if round(100 * share, 1) else "0.0"


def fields_of(value: Any, *names: str) -> dict[str, Any]:
    """Some fields of a value as JSON, in this order."""
    return {name: document(getattr(value, name)) for name in names}


def name_or(name: str, otherwise: str) -> str:
    """A name in a sentence, which it would make too long beyond six words: files of others may name a model so."""
    return name if len(name.split()) <= _MOST_WORDS else otherwise


def document(value: Any, nouns: Nouns | None = None) -> Any:
    """A frozen value as JSON: each field under its name and in its order, a `reason` only where there is one.

    Fields whose metadata have `json` as False are left out. With `nouns`, names of fields that speak of cases, strata
    and groups are the benchmark's words.

    Of a difference, second minus first, neither the interval nor `p` is adjusted for several tests. The true difference
    that is detected with 80 % power, by the adjusted test where p is adjusted, is `detectable_points`, and with 50 %
    `detectable_half_points`: from `detectable_base`, the mean of both scores in [0, 1], towards .5.
    """
    if value is None or isinstance(value, str | int | float):  # most are, and a large page has millions
        return value
    if isinstance(value, Paired):
        often, half = seen_from(value) or (None, None)
        numbers = {"pairs": value.count, (nouns or Nouns()).groups: value.groups, "p": value.p}
        seen = {"detectable_base": value.base, "detectable_points": often, "detectable_half_points": half}
        return {**document(value.difference), **numbers, **seen, **({"p_reason": value.reason} if value.reason else {})}
    if is_dataclass(value):
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.metadata.get("json", True)}
        named = {getattr(nouns, name, name) if nouns else name: item for name, item in own.items()}
        return {name: document(item, nouns) for name, item in named.items() if item or name != "reason"}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return {name: document(item, nouns) for name, item in entries.items()}
    return (
        [document(item, nouns) for item in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value
    )
