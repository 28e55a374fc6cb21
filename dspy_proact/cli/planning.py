"""What `--dry-run` prints."""

import dataclasses
import json
from collections.abc import Mapping, Sequence

import click

from dspy_proact.benchmarks.plan import ASSUMED_WORDS, SECONDS, Plan, RolePlan
from dspy_proact.models import Limits
from dspy_proact.plain_text import printable

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def show_plan(plans: Mapping[str, Plan], limits: Limits, as_json: bool) -> None:
    """Print the plan of each model on standard output; JSON of several is a list."""
    if as_json:
        each = [{"model": model, **dataclasses.asdict(plan), "calls": plan.calls} for model, plan in plans.items()]
        click.echo(json.dumps(each if len(each) > 1 else each[0], indent=2))
        return
    for model, plan in plans.items():
        if len(plans) > 1:
            click.echo(f"{printable(model)}:")
        _show(plan)
    for line in _exceeded(list(plans.values()), limits):
        click.echo(line)


def _show(plan: Plan) -> None:
    click.echo(f"{plan.calls:,} calls, without repairs and retries. None is made now.")
    for name, role in (("assistant", plan.assistant), ("judge", plan.judge)):
        click.echo(f"{name}: {_role(role)}")
    click.echo(f"Prompts of the judge are counted with responses of {ASSUMED_WORDS} words where there are none yet.")
    low, high = (_time(seconds) for seconds in plan.seconds)
    click.echo(f"Time: {low} to {high}, if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait.")


def _role(role: RolePlan) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    return (
        f"{role.calls:,} calls, {role.prompt_tokens:,} tokens in (counted by {role.tokenizer}), "
        f"{few:,} to {many:,} out, {price}"
    )


def _exceeded(plans: Sequence[Plan], limits: Limits) -> list[str]:
    """What the limits, which hold for all together, will stop."""
    usd = [role.usd[1] for plan in plans for role in (plan.assistant, plan.judge) if role.usd]
    compared = [
        ("--max-calls", limits.calls, sum(plan.calls for plan in plans)),
        ("--max-tokens", limits.tokens, sum(plan.most_tokens for plan in plans)),
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
