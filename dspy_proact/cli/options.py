"""Options that several verbs share, and the kinds of value that they take."""

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from dspy_proact.models import Gate, ModelSpec
    from dspy_proact.runs import Scope

PHASES = ["EMERGENT", "CRITICAL", "RECOVERY"]


class Params(click.ParamType):
    """NAME=VALUE, the value read as JSON where it is JSON; `none` leaves the parameter out."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """The name and the value."""
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip().isidentifier():
            self.fail(f"{value!r} is not NAME=VALUE, such as temperature=0 or top_p=none", param, ctx)
        if text.strip().lower() == "none":
            return name.strip(), None
        try:
            return name.strip(), json.loads(
                text, parse_constant=lambda _: self.fail(f"{text} is no number", param, ctx)
            )
        except ValueError:
            return name.strip(), text


class Positive(click.FloatRange):
    """A finite number above zero."""

    def __init__(self, most: float = 1e9) -> None:
        super().__init__(min=0, max=most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; `nan` passes every comparison of a range, so it is refused here."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class PerMillion(click.ParamType):
    """IN,OUT: US dollars per million tokens of the prompt and of the answer."""

    name = "IN,OUT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Dollars per token."""
        try:
            prompt, completion = (float(part) / 1e6 for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not IN,OUT, such as 2.5,15", param, ctx)
        if not all(math.isfinite(price) and price >= 0 for price in (prompt, completion)):
            self.fail(f"{value!r} is not a price", param, ctx)
        return prompt, completion


@dataclass(frozen=True)
class Settings:
    """What `eval` and `rejudge` both are asked: who judges, how calls are made, what is done and how much of it."""

    judges: tuple[str, ...]
    judge_prompt: Literal["default", "official"]
    judge_api_base: str | None
    judge_params: tuple[tuple[str, Any], ...]
    judge_price: tuple[float, float] | None
    judge_program: Path | None
    judge_epochs: int | None
    backend: Literal["auto", "litellm"]
    out: Path | None
    limit: int | None
    phases: tuple[str, ...]
    concurrency: int
    timeout: float
    retries: int
    retry_unscored: bool
    controls: bool
    dry_run: bool
    max_calls: int | None
    max_tokens: int | None
    max_usd: float | None
    as_json: bool

    @property
    def gate(self) -> "Gate":
        """How calls are made."""
        from dspy_proact.models import Gate, Limits

        return Gate(
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            limits=Limits(self.max_calls, self.max_tokens, self.max_usd),
            backend=self.backend,
        )

    def calling(self, judges: "Sequence[str]") -> dict[str, Any]:
        """Who judges, as `Evaluation` and `Rejudging` take it."""
        from dspy_proact.programs import read_judge

        return {
            "judge": [spec(name, self.judge_api_base, self.judge_params, self.judge_price) for name in judges],
            "judge_prompt": self.judge_prompt,
            "judge_program": read_judge(self.judge_program) if self.judge_program else None,
        }

    def scope(self, epochs: int | None) -> "Scope":
        """How much is asked; None for as many epochs as there are responses to judge again."""
        from dspy_proact.runs import Scope

        return Scope(
            limit=self.limit,
            strata=self.phases,
            epochs=epochs,
            judge_epochs=self.judge_epochs,
            retry_unscored=self.retry_unscored,
            controls=self.controls,
        )


_OPTIONS = (
    click.option("--judge", "judges", multiple=True, help="Judge, a litellm name; several are a jury."),
    click.option(
        "--judge-prompt",
        type=click.Choice(["default", "official"]),
        default="default",
        show_default=True,
        help="`official` takes the judge's words from the installed official package.",
    ),
    click.option(
        "--judge-program",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A compiled judge, as `optimize judge` writes it.",
    ),
    click.option(
        "--judge-epochs", type=click.IntRange(1, 1000), help="Verdicts of each judge on a response. Default: 1."
    ),
    click.option("--judge-api-base", metavar="URL", help="Endpoint of the judges."),
    click.option(
        "--backend", type=click.Choice(["auto", "litellm"]), default="auto", help="`litellm` forces its client."
    ),
    click.option("--out", type=click.Path(path_type=Path), help="Folder of the run. Default: runs/MODEL--JUDGE--ID."),
    click.option("--limit", type=click.IntRange(1, 10**9), help="The most triggers, spread over scenarios and phases."),
    click.option(
        "--phase",
        "phases",
        multiple=True,
        type=click.Choice(PHASES, case_sensitive=False),
        help="Only this phase; may be repeated.",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 4096), default=32, show_default=True, help="Requests in flight."
    ),
    click.option("--timeout", type=Positive(86400), default=600, show_default=True, help="Seconds for one attempt."),
    click.option(
        "--retries", type=click.IntRange(0, 100), default=5, show_default=True, help="Further attempts a call."
    ),
    click.option(
        "--judge-param",
        "judge_params",
        type=Params(),
        multiple=True,
        help="Overrides the judge's preset; repeatable; response_format=none sends no schema.",
    ),
    click.option("--judge-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none."),
    click.option("--retry-unscored", is_flag=True, help="Try again also what failed for its content."),
    click.option("--controls", is_flag=True, help="Look for unwanted offers at turns without a trigger too."),
    click.option("--dry-run", is_flag=True, help="Say what it will take, and make no call."),
    click.option("--max-calls", type=click.IntRange(1), help="The most calls of this command, retries included."),
    click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of this command, prompts and answers."),
    click.option("--max-usd", type=Positive(), help="The most US dollars of this command."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
)


def with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the shared options; it receives them as one value named `settings`."""

    @functools.wraps(command)
    def with_one_value(**given: Any) -> int:
        settings = Settings(**{field.name: given.pop(field.name) for field in fields(Settings)})
        return command(settings=settings, **given)

    for option in reversed(_OPTIONS):
        with_one_value = option(with_one_value)
    return with_one_value


def spec(
    name: str,
    api_base: str | None,
    params: Sequence[tuple[str, Any]],
    per_token: tuple[float, float] | None,
) -> "ModelSpec":
    """A model as a person names it."""
    from dspy_proact.calls import Price
    from dspy_proact.models import ModelSpec

    prompt, completion = per_token or (None, None)
    given = Price(prompt=prompt, completion=completion, reason="given on the command line") if per_token else None
    return ModelSpec(name=name, api_base=api_base, params=dict(params), price=given)
