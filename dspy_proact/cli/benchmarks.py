"""`dspy-proact benchmarks`: what can be measured, and a template of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import console, print_json, say

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark


@verb(
    "new",
    first="",
    example="dspy-proact benchmarks new mine.py",
    brief="Write a commented template of a benchmark of your own.",
)
@click.argument("file", type=click.Path(path_type=Path))
def new(file: Path) -> None:
    """Write FILE, a commented template of a benchmark of your own, which runs as it stands.

    FILE ends in .py, and its name is the benchmark's. A file that exists is not replaced.
    """
    from dspy_proact.evaluation.own_file import write_template
    from dspy_proact.evaluation.registry import benchmarks

    write_template(file, benchmarks())
    say(f"The benchmark is in {file}; each comment that begins with YOUR says what to put there.")
    say_next(Next.BENCHMARKS_LISTED, name=file)


@verb(
    "benchmarks",
    Section(Heading.OUTPUT, option.as_json("the list")),
    first="--json",
    example="dspy-proact benchmarks",
    brief="List what can be measured.",
    further=(new,),
)
def benchmarks(as_json: bool) -> None:
    """List the benchmarks: what each measures, its size, licence and data, the best published score, its settings.

    Other commands take a benchmark with --benchmark NAME, and a setting of it with --set NAME=VALUE. `benchmarks new`
    writes a template of your own.
    """
    from dspy_proact.cli.options.settings import settings_of
    from dspy_proact.evaluation.registry import benchmarks as known
    from dspy_proact.evaluation.registry import unusable_benchmarks
    from dspy_proact.plain_text import printable

    for reason in unusable_benchmarks().values():
        say(reason)
    if as_json:
        taken = ("name", "takes", "default", "description")
        documents = [
            {"name": entry.name}
            | _facts(entry)
            | {
                "settings": [
                    {name: getattr(setting, name) for name in taken} for setting in settings_of(entry.settings_type)
                ]
            }
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
        facts |= {f"--set {setting.usual}": f"{setting.wants}. {setting.description}" for setting in settings}
        facts |= {} if settings else {"settings": "none"}
        with formatter.section(entry.name):
            formatter.write_dl([(name, printable(text or "")) for name, text in facts.items()])
    click.echo(formatter.getvalue().lstrip("\n"), nl=False)
    say_next(Next.BENCHMARKS_LISTED, name=next(iter(known())))


def _facts(entry: "Benchmark[Any, Any]") -> dict[str, str | None]:
    """What is said of a benchmark before its settings, by name in JSON."""
    from dspy_proact.evaluation.published import best_published

    return {
        "measures": entry.about,
        "size": entry.corpus.size,
        "licence": entry.corpus.licence,
        "data": entry.corpus.source,
        "best_published": best_published(entry),
        "judge": entry.models.judge,
        **({"roles": ", ".join(entry.roles)} if entry.roles else {}),
    }
