"""Which cases a command is about: the corpus, how much of it, and the key of a single case."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import flag_option, number_option, text_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.runs import Scope

LEFT_OUT = "..."
"""In a key that is shown shortened, and may be given so."""
_MOST_NAMED = 3


def corpus_option(text: str) -> Section:
    """`--corpus`, with a help of its own."""
    return Section(Heading.CASES, text_option("--corpus", "sample|NAME[@REV]|PATH", text))


CORPUS = corpus_option(
    "`sample`, the published corpus by the benchmark's NAME, or your own files. Default: the published one; the sample "
    "if embedded."
)
ANSWERED_CORPUS = corpus_option("Corpus of a results file.")


# How much


def strata_options(text: str) -> tuple[click.Option, click.Option]:
    """`--stratum`, and `--phase`, which is the same for benchmarks whose strata are phases: see `Chosen`."""
    return (
        text_option("--stratum", "NAME", text, "strata", several=True),
        text_option(
            "--phase", "NAME", "The same as --stratum, for benchmarks whose strata are phases.", "phases", several=True
        ),
    )


def _scope(*, strata: Sequence[str] = (), phases: Sequence[str] = (), votes: int | None, **given: Any) -> "Scope":
    from dspy_proact.runs import Scope

    return Scope(strata=(*strata, *phases), judge_epochs=votes, **given)


_TIMES = click.IntRange(1, 1000)
_CASES = (
    number_option("--limit", click.IntRange(1, 10**9), "At most N cases, balanced across groups and strata."),
    *strata_options("Only this stratum, such as a phase or a difficulty; repeatable."),
    flag_option("--controls", "Run the control cases too, where only an answer is wanted."),
)
_EPOCHS = number_option("--epochs", _TIMES, "Answers to each case.", default=1)
_GRADING = (
    number_option(
        "--votes", _TIMES, "Verdicts of each judge on a response. Default: 1, or as a compiled judge was compiled."
    ),
    flag_option("--retry-unscored", "Also retry cases that failed because of their content."),
)
SCOPE = Bundle("scope", _scope, Section(Heading.CASES, *_CASES, _EPOCHS, *_GRADING))
GRADING_SCOPE = Bundle("scope", _scope, Section(Heading.CASES, *_CASES, *_GRADING))
"""Where the responses exist already."""
VERDICTS = Bundle("scope", _scope, Section(Heading.JUDGE, *_GRADING))
"""Where all of them are graded."""


# Names and keys


def known_names(flag: str, named: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names as they are known, in any case of letters; raises a `UsageError` for one that is none of them."""
    spelled = {name.casefold(): str(name) for name in known}
    for name in named:
        if name.casefold() not in spelled:
            raise UsageError(f"{flag} {name}: is none of {', '.join(spelled.values())}")
    return [spelled[name.casefold()] for name in named]


def resolve_key(named: str, keys: Sequence[str], noun: str, where: str, more: str = "") -> str:
    """The key that a person means: the one that is given, or the only one that begins so; `...` stands for a middle.

    Args:
        named: What the person gives.
        keys: All there are, each once.
        noun: What has a key; the option is called so.
        where: What has the keys.
        more: A sentence added to the message where there is no such key.

    Raises:
        UsageError: There is no such key, or there are several.
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
