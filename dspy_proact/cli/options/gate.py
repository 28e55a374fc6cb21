"""How calls are made and what they may cost: the same options in every command that calls a model."""

from typing import TYPE_CHECKING, Literal

import click

from dspy_proact.cli.options.kinds import Positive
from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.models import Gate


def _gate(
    *,
    concurrency: int,
    timeout: float,
    retries: int,
    backend: Literal["auto", "litellm"],
    max_calls: int | None,
    max_tokens: int | None,
    max_usd: float | None,
) -> "Gate":
    from dspy_proact.models import Gate, Limits

    limits = Limits(max_calls, max_tokens, max_usd)
    return Gate(concurrency=concurrency, timeout=timeout, retries=retries, limits=limits, backend=backend)


_CALLS = Section(
    Heading.CALLS,
    (
        click.Option(
            ["--concurrency"],
            type=click.IntRange(1, 4096),
            metavar="N",
            default=32,
            show_default=True,
            help="Requests in flight, of all models together.",
        ),
        click.Option(
            ["--timeout"],
            type=Positive(86400),
            metavar="S",
            default=600,
            show_default=True,
            help="Seconds for one attempt.",
        ),
        click.Option(
            ["--retries"],
            type=click.IntRange(0, 100),
            metavar="N",
            default=5,
            show_default=True,
            help="Further attempts a call.",
        ),
        click.Option(
            ["--backend"],
            type=click.Choice(["auto", "litellm"]),
            default="auto",
            show_default=True,
            help="`litellm` forces its client.",
        ),
    ),
)
_LIMITS = Section(
    Heading.LIMITS,
    (
        click.Option(
            ["--max-calls"],
            type=click.IntRange(1),
            metavar="N",
            help="The most calls of this command, retries included.",
        ),
        click.Option(
            ["--max-tokens"],
            type=click.IntRange(1),
            metavar="N",
            help="The most tokens of this command, prompts and answers.",
        ),
        click.Option(["--max-usd"], type=Positive(), metavar="USD", help="The most US dollars of this command."),
    ),
)
GATE = Bundle("gate", (_CALLS, _LIMITS), _gate)
