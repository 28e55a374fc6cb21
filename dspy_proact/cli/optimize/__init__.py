"""`dspy-proact optimize`: compile the judge or the assistant, and show what came of it."""

import click

from dspy_proact.cli.optimize.assistant import assistant
from dspy_proact.cli.optimize.judge import judge
from dspy_proact.cli.optimize.show import show


@click.group(short_help="Compile the judge or the assistant.")
def optimize() -> None:
    """Compile the judge or the assistant, and show what a compile changed."""


for verb in (judge, assistant, show):
    optimize.add_command(verb)
