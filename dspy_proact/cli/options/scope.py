"""Options that say which cases of a benchmark, and how often; names and keys as a person gives them."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import Bundle, Heading, Section
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.runs import Scope, Shard

LEFT_OUT = "..."
"""In a key that is shown shortened, and may be given so."""
_MOST_NAMED = 3


def strata_options(text: str) -> tuple[click.Option, click.Option]:
    """`--stratum`, and `--phase`, which is the same for benchmarks whose strata are phases: see `BenchmarkChoice`."""
    return (
        option.text("--stratum", "NAME", text, "strata", several=True),
        option.text(
            "--phase", "NAME", "The same as --stratum, for benchmarks whose strata are phases.", "phases", several=True
        ),
    )


def _scope(
    *,
    strata: Sequence[str] = (),
    phases: Sequence[str] = (),
    votes: int | None,
    tags: Sequence[tuple[str, str]] = (),
    **options: Any,
) -> "Scope":
    from dspy_proact.runs import Scope

    return Scope(strata=(*strata, *phases), judge_epochs=votes, tags=tags_of(tags), **options)


def tags_of(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Labels of runs by name, from NAME=VALUE; raises a `UsageError` where a name has two values."""
    tags = dict(pairs)
    if twice := [name for name, value in pairs if tags[name] != value]:
        raise UsageError(f"--tag {twice[0]}: has two values; a run has one of each name")
    return tags


def labels_section(tag: str, note: str, *more: click.Option) -> Section:
    """`--tag` and `--note`, with helps of their own, and further options."""
    tags = option.text("--tag", "NAME=VALUE", tag, "tags", several=True, read=option.name_value)
    return Section(Heading.OUTPUT, tags, option.text("--note", "TEXT", note), *more)


def _shard(text: str) -> "Shard":
    """A part of the cases, such as 3/8."""
    from dspy_proact.runs import Shard

    try:
        return Shard.of(text)
    except UsageError as error:
        raise click.BadParameter(str(error).partition(": ")[2]) from None


_TIMES = click.IntRange(1, 1000)


def limit_option(what: str) -> click.Option:
    """`--limit`, of cases or of something else."""
    return option.number("--limit", click.IntRange(1, 10**9), f"At most N {what}, balanced across groups and strata.")


_CASES = (
    limit_option("cases"),
    *strata_options("Only this stratum, such as a phase or a difficulty; repeatable."),
    option.flag("--controls", "Run the control cases too, which need only a direct answer."),
    option.text(
        "--shard",
        "I/N",
        "Only part I of N, by a hash of each case; `merge` puts the runs of all parts together.",
        read=_shard,
    ),
)
_REUSE = option.path(
    "--reuse",
    "Folder of another run: copy the answers and verdicts whose requests are equal, or differ in a raised max_tokens.",
)
_EPOCHS = option.number("--epochs", _TIMES, "Answers to each case.", default=1)
_GRADING = (
    option.number(
        "--votes", _TIMES, "Verdicts of each judge on a response. Default: 1, or as a compiled judge was compiled."
    ),
    option.flag("--retry-unscored", "Also retry cases that failed because of their content."),
    option.flag("--keep-going", "Go on although none of the first cases can be scored."),
)
_LABELS = labels_section("Label of the run, for `dspy-proact runs`; repeatable.", "Note on the run, likewise.")
SCOPE = Bundle("scope", _scope, Section(Heading.CASES, *_CASES, _EPOCHS, *_GRADING, _REUSE), _LABELS)
GRADING_SCOPE = Bundle("scope", _scope, Section(Heading.CASES, *_CASES, *_GRADING, _REUSE), _LABELS)
"""Where the responses exist already."""
VERDICTS = Bundle("scope", _scope, Section(Heading.JUDGE, *_GRADING))
"""Where all of them are graded."""


def known_names(flag: str, named: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names as they are known, in any case of letters; raises a `UsageError` for one that is none of them."""
    spelled = {name.casefold(): str(name) for name in known}
    for name in named:
        if name.casefold() not in spelled:
            raise UsageError(f"{flag} {name}: is none of {', '.join(spelled.values())}")
    return [spelled[name.casefold()] for name in named]


def resolve_key(named: str, keys: Sequence[str], noun: str, where: str, more: str = "") -> str:
    """The key that a person means: the one that is given, or the only one that begins so; `...` stands for a middle.

    Raises a `UsageError` where there is none or several; its message calls the option like the `noun`, says `where`
    the keys are, and has one sentence `more` where there is none.
    """
    if named in keys:
        return named
    head, _, tail = named.partition(LEFT_OUT)
    matches = [key for key in keys if key.startswith(head) and key[len(head) :].endswith(tail)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        others = f" and {len(matches) - _MOST_NAMED} more" if len(matches) > _MOST_NAMED else ""
        raise UsageError(f"--{noun} {named}: is ambiguous: {', '.join(matches[:_MOST_NAMED])}{others}; give more of it")
    near = get_close_matches(named, keys, n=1)
    hint = f"; did you mean {near[0]}?" if near else "." if more else ""
    raise UsageError(f"--{noun} {named}: {where} has no such {noun}{hint}{f' {more}' if more else ''}")
