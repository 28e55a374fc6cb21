"""`dspy-proact benchmarks`: what can be measured."""

from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import console, print_json, say, say_next

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
    from dspy_proact.benchmarks.registry import benchmarks as known
    from dspy_proact.benchmarks.registry import unusable_benchmarks
    from dspy_proact.cli.options.settings import settings_of
    from dspy_proact.plain_text import printable

    for reason in unusable_benchmarks().values():
        say(reason)
    if as_json:
        taken = ("name", "takes", "default", "description")
        documents = [
            {"name": entry.name}
            | _facts(entry)
            | {"settings": [{name: getattr(each, name) for name in taken} for each in settings_of(entry.settings_type)]}
            for entry in known().values()
        ]
        print_json({"benchmarks": documents})
        return
    width = console().width
    formatter = click.HelpFormatter(width=width, max_width=width)
    for entry in known().values():
        facts = {name.replace("_", " "): text for name, text in _facts(entry).items()}
        facts["default judge"] = facts.pop("judge") or "none"
        settings = settings_of(entry.settings_type)
        facts |= {f"--set {each.usual}": f"{each.wants}. {each.description}" for each in settings} or {
            "settings": "none"
        }
        with formatter.section(entry.name):
            formatter.write_dl([(name, printable(text or "")) for name, text in facts.items()])
    click.echo(formatter.getvalue().lstrip("\n"), nl=False)
    say_next("eval", "--benchmark", next(iter(known())))


def _facts(entry: "Benchmark[Any, Any]") -> dict[str, str | None]:
    """What is said of a benchmark before its settings, by name in JSON."""
    return {
        "measures": entry.about,
        "size": entry.size,
        "licence": entry.licence,
        "data": entry.data,
        "best_published": entry.best,
        "judge": entry.judge_name,
    }
