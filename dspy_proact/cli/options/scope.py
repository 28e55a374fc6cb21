"""How much is asked."""

from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import number_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.runs import Scope


def phase_option(told: str) -> click.Option:
    """`--phase`, as often as there are phases."""
    phases = click.Choice(["EMERGENT", "CRITICAL", "RECOVERY"], case_sensitive=False)
    return click.Option(["--phase", "phases"], multiple=True, type=phases, help=told)


def _scope(*, phases: tuple[str, ...] = (), **given: Any) -> "Scope":
    from dspy_proact.runs import Scope

    return Scope.model_validate({**given, "strata": phases})


_TIMES = click.IntRange(1, 1000)
_CASES = (
    number_option(
        "--limit", click.IntRange(1, 10**9), "The most cases (triggers, tasks), spread over what they share."
    ),
    phase_option("Only this phase; may be repeated."),
    click.Option(["--controls"], is_flag=True, help="Look for unwanted offers at turns without a trigger too."),
)
_EPOCHS = number_option("--epochs", _TIMES, "Answers to each case.", default=1)
_GRADING = (
    number_option(
        "--judge-epochs",
        _TIMES,
        "Verdicts of each judge on a response. Default: 1, or as many as a compiled judge asks for.",
    ),
    click.Option(["--retry-unscored"], is_flag=True, help="Try again also what failed for its content."),
)
SCOPE = Bundle("scope", (Section(Heading.ASKED, (*_CASES, _EPOCHS, *_GRADING)),), _scope)
GRADING_SCOPE = Bundle("scope", (Section(Heading.ASKED, (*_CASES, *_GRADING)),), _scope)
"""Where responses are there, as often as they are."""
VERDICTS = Bundle("scope", (Section(Heading.JUDGE, _GRADING),), _scope)
"""Where all of them are graded."""
