"""The triggers of a corpus, by which a person names them."""

import json
from collections.abc import Sequence

import click
from rich.console import Console

from dspy_proact.plain_text import printable
from dspy_proact.runs import Case

_INDENT = 4
_SHORTEST = 40
"""Characters of a message that the list shows at least."""


def print_triggers(cases: Sequence[Case], as_json: bool) -> None:
    """Print keys with phase, scenario and message: two lines each, or JSON with the whole message."""
    from dspy_proact.benchmarks.proactbench.cases import user_message

    if as_json:
        each = [
            {"trigger": case.key, "phase": case.stratum, "scenario": case.group, "user_message": user_message(case)}
            for case in cases
        ]
        click.echo(json.dumps(each, indent=2))
        return
    width = Console().width - _INDENT
    for case in cases:
        told = f"{case.stratum:<8}  {case.meta['scenario_id']}  "
        message = " ".join(user_message(case).split())
        room = max(_SHORTEST, width - len(told))
        clipped = message if len(message) <= room else f"{message[: room - 3]}..."
        click.echo(f"{printable(case.key)}\n{' ' * _INDENT}{printable(told + clipped)}")
