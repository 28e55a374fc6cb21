"""What a compile will take, as a person reads it, and as JSON."""

from typing import Any

from dspy_proact.benchmarks.forecast import SECONDS
from dspy_proact.compile.forecast import Forecast
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """The numbers of a forecast."""
    numbers = ("calls", "prompt_tokens", "completion_tokens", "usd")
    return {
        "roles": {name: {number: getattr(role, number) for number in numbers} for name, role in forecast.roles.items()},
        "concurrency": forecast.concurrency,
        "items": forecast.items,
        forecast.groups: forecast.group_count,
        "smallest_gain": forecast.smallest_gain,
        "calls": forecast.calls,
        "usd": forecast.usd,
        "seconds": list(forecast.seconds),
    }


def forecast_text(forecast: Forecast) -> list[str]:
    """Calls, tokens, price, time, and what the items can show."""
    low, high = (duration(seconds) for seconds in forecast.seconds)
    price = "price unknown" if forecast.usd is None else f"at most USD {forecast.usd:.2f}"
    each = ", ".join(f"{name.replace('_', ' ')} {role.calls:,}" for name, role in forecast.roles.items())
    return [
        f"At most {forecast.calls:,} calls ({each}), {forecast.tokens:,} tokens, {price}; repairs and retries apart.",
        f"Time: {low} to {high} at most, {forecast.concurrency} calls in flight, if a call takes {SECONDS[0]:g} to "
        f"{SECONDS[1]:g} seconds.",
        _shown(forecast),
    ]


def _shown(forecast: Forecast) -> str:
    count = f"{forecast.items} items in {forecast.group_count} {forecast.groups}"
    if forecast.items < CLAIM_LABELS or forecast.group_count < CLAIM_GROUPS:
        return f"{count} are too few for any claim: {CLAIM_LABELS} in {CLAIM_GROUPS} are the least."
    if forecast.smallest_gain is None:
        return f"{count}; a claim takes at least {CLAIM_LABELS} in {CLAIM_GROUPS}."
    gain = f"{forecast.smallest_gain:.2f}"
    return f"{count} show a gain of {gain} in kappa in at least four compiles of five, if there is one to be had."


def duration(seconds: float) -> str:
    """In the largest unit of which there are two or more."""
    for unit, name in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
