"""How much is asked."""

from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.runs import Scope

PHASES = click.Choice(["EMERGENT", "CRITICAL", "RECOVERY"], case_sensitive=False)


def _scope(
    *,
    limit: int | None,
    phases: tuple[str, ...],
    judge_epochs: int | None,
    controls: bool,
    retry_unscored: bool,
    epochs: int | None = None,
) -> "Scope":
    from dspy_proact.runs import Scope

    return Scope(
        limit=limit,
        strata=phases,
        epochs=epochs,
        judge_epochs=judge_epochs,
        retry_unscored=retry_unscored,
        controls=controls,
    )


_CASES = (
    click.Option(
        ["--limit"],
        type=click.IntRange(1, 10**9),
        metavar="N",
        help="The most triggers, spread over scenarios and phases.",
    ),
    click.Option(["--phase", "phases"], multiple=True, type=PHASES, help="Only this phase; may be repeated."),
    click.Option(["--controls"], is_flag=True, help="Look for unwanted offers at turns without a trigger too."),
)
_EPOCHS = click.Option(
    ["--epochs"],
    type=click.IntRange(1, 1000),
    metavar="N",
    default=1,
    show_default=True,
    help="Answers per trigger.",
)
_GRADING = (
    click.Option(
        ["--judge-epochs"],
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Verdicts of each judge on a response. Default: 1.",
    ),
    click.Option(["--retry-unscored"], is_flag=True, help="Try again also what failed for its content."),
)
SCOPE = Bundle("scope", (Section(Heading.ASKED, (*_CASES, _EPOCHS, *_GRADING)),), _scope)
GRADING_SCOPE = Bundle("scope", (Section(Heading.ASKED, (*_CASES, *_GRADING)),), _scope)
"""Where responses are there, as often as they are."""
