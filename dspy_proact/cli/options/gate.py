"""How calls are made and what they may cost: the same options in every command that calls a model."""

from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from dspy_proact.cli.options.kinds import Positive, choice_option, number_option
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
        number_option(
            "--concurrency", click.IntRange(1, 4096), "Requests in flight, of all models together.", default=32
        ),
        number_option("--timeout", Positive(86400), "Seconds for one attempt.", "S", 600),
        number_option("--retries", click.IntRange(0, 100), "Further attempts a call.", default=5),
        choice_option("--backend", ("auto", "litellm"), "`litellm` forces its client."),
    ),
)
_LIMITS = Section(
    Heading.LIMITS,
    (
        number_option("--max-calls", click.IntRange(1), "The most calls of this command, retries included."),
        number_option("--max-tokens", click.IntRange(1), "The most tokens of this command, prompts and answers."),
        number_option("--max-usd", Positive(), "The most US dollars of this command.", "USD"),
    ),
)
GATE = Bundle("gate", (_CALLS, _LIMITS), _gate)
GATE_IF_ASKED = Bundle("gate", GATE.sections, partial(partial, _gate))
"""The same, opened by a call: for a command that may ask no model, and then imports nothing of one."""
