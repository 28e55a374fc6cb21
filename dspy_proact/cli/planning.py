"""What `--dry-run` prints."""

import dataclasses
import json

import click

from dspy_proact.benchmarks.plan import ASSUMED_WORDS, SECONDS, Plan, RolePlan
from dspy_proact.models import Limits

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def show_plan(plan: Plan, limits: Limits, as_json: bool) -> None:
    """Print a plan on standard output."""
    if as_json:
        click.echo(json.dumps({**dataclasses.asdict(plan), "calls": plan.calls}, indent=2))
        return
    click.echo(f"{plan.calls:,} calls, without repairs and retries. None is made now.")
    for name, role in (("assistant", plan.assistant), ("judge", plan.judge)):
        click.echo(f"{name}: {_role(role)}")
    click.echo(f"Prompts of the judge are counted with responses of {ASSUMED_WORDS} words where there are none yet.")
    low, high = (_time(seconds) for seconds in plan.seconds)
    click.echo(f"Time: {low} to {high}, if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait.")
    for line in _exceeded(plan, limits):
        click.echo(line)


def _role(role: RolePlan) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    return (
        f"{role.calls:,} calls, {role.prompt_tokens:,} tokens in (counted by {role.tokenizer}), "
        f"{few:,} to {many:,} out, {price}"
    )


def _exceeded(plan: Plan, limits: Limits) -> list[str]:
    """What the limits will stop."""
    usd = [role.usd[1] for role in (plan.assistant, plan.judge) if role.usd]
    compared = [
        ("--max-calls", limits.calls, plan.calls),
        ("--max-tokens", limits.tokens, plan.most_tokens),
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
