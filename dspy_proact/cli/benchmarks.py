"""`dspy-proact benchmarks`: what can be measured."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, say, say_next

if TYPE_CHECKING:
    from dspy_proact.benchmarks.benchmark import Benchmark


@verb(
    "benchmarks",
    Section(Heading.OUTPUT, json_option("the list")),
    first="--json",
    example="dspy-proact benchmarks",
    brief="List what can be measured.",
)
def benchmarks(as_json: bool) -> None:
    """List the benchmarks: what each measures, its size, licence and data, the best published score, its settings.

    Other commands take a benchmark with --benchmark NAME, and a setting of it with --set NAME=VALUE.
    """
    from rich.console import Console

    from dspy_proact.benchmarks.registry import benchmarks as known
    from dspy_proact.benchmarks.registry import unusable_benchmarks
    from dspy_proact.plain_text import printable

    for reason in unusable_benchmarks().values():
        say(reason)
    if as_json:
        print_json({"benchmarks": [_document(each) for each in known().values()]})
        return
    width = Console().width
    formatter = click.HelpFormatter(width=width, max_width=width)
    for entry in known().values():
        with formatter.section(entry.name):
            formatter.write_dl([(name, printable(text)) for name, text in _rows(entry)])
    click.echo(formatter.getvalue().lstrip("\n"), nl=False)
    say_next("eval", "--benchmark", next(iter(known())))


def _document(entry: "Benchmark[Any, Any]") -> dict[str, Any]:
    from dspy_proact.cli.options.settings import settings_of

    return {
        "name": entry.name,
        "measures": entry.about,
        "size": entry.size,
        "licence": entry.licence,
        "data": entry.data,
        "best_published": entry.best,
        "judge": entry.judge_name,
        "settings": [
            {"name": each.name, "takes": each.takes, "default": each.default, "description": each.description}
            for each in settings_of(entry.settings_type)
        ],
    }


def _rows(entry: "Benchmark[Any, Any]") -> Iterator[tuple[str, str]]:
    from dspy_proact.cli.options.settings import settings_of

    yield "measures", entry.about
    yield "size", entry.size
    yield "licence", entry.licence
    yield "data", entry.data
    yield "best published", entry.best
    yield "default judge", entry.judge_name or "none"
    settings = settings_of(entry.settings_type)
    if not settings:
        yield "settings", "none"
    for each in settings:
        yield f"--set {each.usual}", f"{each.wants}. {each.description}"
