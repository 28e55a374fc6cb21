"""Ratings that are still to be given: how many, and of what."""

from dataclasses import dataclass

import click

from dspy_proact.cli.options.kinds import Positive, number_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section

_MOST_POINTS = 49.0
"""Half of an interval over nearly the whole scale."""


@dataclass(frozen=True)
class Labelling:
    """What is asked of people."""

    plan: float | None
    """Half of the wanted 95 % interval, in points of 100."""
    draw: int | None
    """Responses on a sheet."""
    draw_seed: int | None
    """0 where None."""
    template: bool
    """Whether a sheet of all responses is asked for."""

    @property
    def flag(self) -> str | None:
        """The one that asks for it; None where nothing is asked; raises `UsageError` for several."""
        from dspy_proact.errors import UsageError

        asked = {"--plan": self.plan, "--draw": self.draw, "--template": self.template}
        flags = [flag for flag, given in asked.items() if given]
        if len(flags) > 1:
            raise UsageError(f"{' and '.join(flags)} are two things; leave one out")
        return flags[0] if flags else None


LABELLING = Bundle(
    "labelling",
    (
        Section(
            Heading.OUTPUT,
            (
                number_option(
                    "--plan",
                    Positive(most=_MOST_POINTS),
                    "Say how many people must rate how much for a corrected score within WIDTH points.",
                    metavar="WIDTH",
                ),
                number_option(
                    "--draw",
                    click.IntRange(1),
                    "Print a sheet of N responses of --run to be rated, drawn by phase and the judge's grade.",
                ),
                number_option("--draw-seed", click.IntRange(0, 999_999_999), "Seed of --draw. Default: 0."),
                click.Option(
                    ["--template"], is_flag=True, help="Print a sheet of all responses of --run or --items to be rated."
                ),
            ),
        ),
    ),
    Labelling,
)
