"""What `--dry-run` prints."""

import dataclasses
import json
from collections.abc import Mapping, Sequence

import click

from dspy_proact.benchmarks import Forecast, RoleForecast
from dspy_proact.benchmarks.forecast import SECONDS
from dspy_proact.models import Limits
from dspy_proact.plain_text import printable

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def show_forecast(forecasts: Mapping[str, Forecast], limits: Limits, as_json: bool) -> None:
    """Print the forecast of each model on standard output; JSON of several is a list."""
    if as_json:
        each = [
            {"model": model, **dataclasses.asdict(forecast), "calls": forecast.calls}
            for model, forecast in forecasts.items()
        ]
        click.echo(json.dumps(each if len(each) > 1 else each[0], indent=2))
        return
    for model, forecast in forecasts.items():
        if len(forecasts) > 1:
            click.echo(f"{printable(model)}:")
        _show(forecast)
    for line in _exceeded(list(forecasts.values()), limits):
        click.echo(line)


def _show(forecast: Forecast) -> None:
    click.echo(f"{forecast.calls:,} calls, without repairs and retries. None is made now.")
    for name, role in (("assistant", forecast.assistant), ("judge", forecast.judge)):
        click.echo(f"{name}: {_role(role)}")
    if forecast.assumption:
        click.echo(forecast.assumption)
    low, high = (_time(seconds) for seconds in forecast.seconds)
    click.echo(f"Time: {low} to {high}, if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait.")


def _role(role: RoleForecast) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    calls = f"{'at least ' if role.untold else ''}{role.calls:,} calls"
    return f"{calls}, {role.prompt_tokens:,} tokens in (counted by {role.tokenizer}), {few:,} to {many:,} out, {price}"


def _exceeded(forecasts: Sequence[Forecast], limits: Limits) -> list[str]:
    """What the limits, which hold for all together, will stop."""
    usd = [role.usd[1] for forecast in forecasts for role in (forecast.assistant, forecast.judge) if role.usd]
    compared = [
        ("--max-calls", limits.calls, sum(forecast.calls for forecast in forecasts)),
        ("--max-tokens", limits.tokens, sum(forecast.most_tokens for forecast in forecasts)),
        ("--max-usd", limits.usd, sum(usd)),
    ]
    return [
        f"{flag} {limit:g} may stop it before the end: it could take {need:,.2f}".removesuffix(".00")
        for flag, limit, need in compared
        if limit is not None and need > limit
    ]


def _time(seconds: float) -> str:
    for unit, name in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
