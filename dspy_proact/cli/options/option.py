"""Types of option values, functions that make options of a kind, and the output options of commands."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.types import OptionHelpExtra

from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.calls import Price


def name_value(text: str) -> tuple[str, str]:
    """The name and the text of NAME=VALUE, whose value is read when it is known what takes it."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name.strip(), value


def parameter(text: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, read as JSON where it is JSON; `none` leaves the parameter out."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise click.BadParameter(f"{text!r} is not NAME=VALUE, such as temperature=0 or top_p=none")
    if value.strip().lower() == "none":
        return name.strip(), None

    def refuse(_: str) -> None:
        raise click.BadParameter(f"{value} is not a number")

    try:
        return name.strip(), json.loads(value, parse_constant=refuse)
    except ValueError:
        return name.strip(), value


class Between(click.FloatRange):
    """A number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; `nan` passes every comparison of a range, so it is refused here."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def price(text: str) -> "Price":
    """The price of a token, of IN,OUT: US dollars per million tokens of the prompt and of the answer."""
    from dspy_proact.calls import Price

    try:
        prompt, completion = (float(part) / 1e6 for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not IN,OUT, such as 2.5,15") from None
    if not all(math.isfinite(price) and price >= 0 for price in (prompt, completion)):
        raise click.BadParameter(f"{text!r} is not a price")
    return Price(prompt=prompt, completion=completion, reason="given on the command line")


class _Number(click.Option):
    """An option whose help leaves out the range of its number, which a refusal names."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def number(
    flag: str,
    kind: click.ParamType,
    text: str,
    metavar: str = "N",
    default: float | None = None,
    name: str | None = None,
) -> click.Option:
    """An option that takes a number; its help says the default where there is one. `name` is as in `flag`."""
    return _Number(
        [flag, name] if name else [flag], type=kind, metavar=metavar, default=default, show_default=True, help=text
    )


def choice(flag: str, among: Sequence[str], text: str, default: str | None = None) -> click.Option:
    """An option that takes one of some words, the first of them where no other is the default."""
    return click.Option([flag], type=click.Choice(among), default=default or among[0], show_default=True, help=text)


def path(flag: str, text: str, several_as: str | None = None) -> click.Option:
    """An option that takes a path; several of them, as the parameter of this name, if there is one."""
    names = [flag, several_as] if several_as else [flag]
    return click.Option(names, type=click.Path(path_type=Path), multiple=bool(several_as), help=text)


STANDARD_OUTPUT = Path("-")


def file(flag: str, text: str) -> click.Option:
    """An option that takes a file to be written, or - for standard output."""
    kind = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
    return click.Option([flag], type=kind, metavar="FILE|-", help=text)


def flag(flag: str, text: str, name: str | None = None) -> click.Option:
    """An option that takes no value; `name` is the parameter where it is not called like the flag."""
    return click.Option([flag, name] if name else [flag], is_flag=True, help=text)


def text(
    flag: str, metavar: str, text: str, name: str | None = None, several: bool = False, read: Any = None
) -> click.Option:
    """An option that takes a text, or several; `name` is as in `flag`, and `read` makes a value of each text."""
    return click.Option([flag, name] if name else [flag], multiple=several, metavar=metavar, help=text, type=read)


def as_json(what: str) -> click.Option:
    """`--json`, which prints something as JSON."""
    return click.Option(["--json", "as_json"], is_flag=True, help=f"Print {what} as JSON.")


def explain() -> click.Option:
    """`--explain`, which adds what a report leaves out."""
    return flag("--explain", "Print the details behind the numbers too.")


@dataclass(frozen=True)
class Output:
    """Where the result is kept, and what is printed."""

    out: Path | None
    """The folder; the default one where None."""
    dry_run: bool
    """Whether only the forecast is printed."""
    as_json: bool


def output(folder: str, what: str) -> Bundle:
    """The options of a command that works in a folder: whose it is, with its default name, and what JSON has."""
    options = (
        path("--out", f"Folder of {folder}."),
        flag("--dry-run", "Estimate calls, cost and time, and make no call."),
        as_json(what),
    )
    return Bundle("output", Output, Section(Heading.OUTPUT, *options))
