"""What runs will take, as a person reads it, and as JSON."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.forecast import SECONDS, RoleCalls, RunForecast
from dspy_proact.cli.views.forecast import duration
from dspy_proact.models import Limits
from dspy_proact.plain_text import printable
from dspy_proact.runs import Scope


def print_forecasts(runs: Sequence[tuple[Execution, Path]], scope: Scope, as_json: bool) -> None:
    """Print what each run would take, by the name of its model; JSON of several is a list."""
    forecasts = {
        execution.manifest.identity.assistant.model: execution.forecast(path, scope) for execution, path in runs
    }
    if as_json:
        each = [run_forecast_document(model, forecast) for model, forecast in forecasts.items()]
        click.echo(json.dumps(each if len(each) > 1 else each[0], indent=2))
        return
    for line in run_forecasts_text(forecasts, runs[0][0].limits):
        click.echo(line)


def run_forecast_document(model: str, forecast: RunForecast) -> dict[str, Any]:
    """The numbers of a model's forecast."""
    return {"model": model, **dataclasses.asdict(forecast), "calls": forecast.calls}


def run_forecasts_text(forecasts: Mapping[str, RunForecast], limits: Limits) -> list[str]:
    """Calls, tokens, price and time by model, and which limits may stop it."""
    lines: list[str] = []
    for model, forecast in forecasts.items():
        if len(forecasts) > 1:
            lines.append(f"{printable(model)}:")
        lines += _lines(forecast)
    return lines + _exceeded(list(forecasts.values()), limits)


def _lines(forecast: RunForecast) -> list[str]:
    low, high = (duration(seconds) for seconds in forecast.seconds)
    return [
        f"{forecast.calls:,} calls, without repairs and retries. None is made now.",
        f"assistant: {_role(forecast.assistant)}",
        f"judge: {_role(forecast.judge)}",
        *([forecast.assumption] if forecast.assumption else []),
        f"Time: {low} to {high}, if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait.",
    ]


def _role(role: RoleCalls) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    calls = f"{'at least ' if role.untold else ''}{role.calls:,} calls"
    counted = f" (counted by {role.tokenizer})" if role.tokenizer else ""
    return f"{calls}, {role.prompt_tokens:,} tokens in{counted}, {few:,} to {many:,} out, {price}"


def _exceeded(forecasts: Sequence[RunForecast], limits: Limits) -> list[str]:
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
