"""Options that every compile takes: how hard it tries, how calls are made, and what it may cost."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.options import Positive

if TYPE_CHECKING:
    from dspy_proact.models import Gate


@dataclass(frozen=True)
class Effortful:
    """What `optimize judge` and `optimize assistant` both are asked."""

    trials: int
    max_demos: int
    folds: int
    seed: int
    backend: Literal["auto", "litellm"]
    timeout: float
    retries: int
    max_calls: int | None
    max_tokens: int | None
    max_usd: float | None
    dry_run: bool
    out: Path | None
    as_json: bool

    @property
    def gate(self) -> "Gate":
        """How calls are made."""
        from dspy_proact.models import Gate, Limits

        return Gate(
            timeout=self.timeout,
            retries=self.retries,
            limits=Limits(self.max_calls, self.max_tokens, self.max_usd),
            backend=self.backend,
        )


_OPTIONS = (
    click.option("--trials", type=click.IntRange(1, 10000), default=20, show_default=True, help="Candidates to try."),
    click.option(
        "--max-demos", type=click.IntRange(0, 64), default=4, show_default=True, help="Worked examples at most."
    ),
    click.option("--folds", type=click.IntRange(2, 100), default=5, show_default=True, help="Folds of whole personas."),
    click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True),
    click.option(
        "--backend", type=click.Choice(["auto", "litellm"]), default="auto", help="`litellm` forces its client."
    ),
    click.option("--timeout", type=Positive(86400), default=600, show_default=True, help="Seconds for one attempt."),
    click.option(
        "--retries", type=click.IntRange(0, 100), default=5, show_default=True, help="Further attempts a call."
    ),
    click.option("--max-calls", type=click.IntRange(1), help="The most calls of this command, retries included."),
    click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of this command, prompts and answers."),
    click.option("--max-usd", type=Positive(), help="The most US dollars of this command."),
    click.option("--dry-run", is_flag=True, help="Say what it will take, and make no call."),
    click.option("--out", type=click.Path(path_type=Path), help="Folder of the compile. Default: compiles/WHAT--ID."),
    click.option("--json", "as_json", is_flag=True, help="Print the card as JSON."),
)


def with_effort(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the shared options; it receives them as one value named `effort`."""

    @functools.wraps(command)
    def with_one_value(**given: Any) -> int:
        effort = Effortful(**{field.name: given.pop(field.name) for field in fields(Effortful)})
        return command(effort=effort, **given)

    for option in reversed(_OPTIONS):
        with_one_value = option(with_one_value)
    return with_one_value
