"""`dspy-proact benchmarks`: what can be measured."""

import json

import click


@click.command(short_help="List what can be measured.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def benchmarks(as_json: bool) -> None:
    """List the benchmarks: what each measures, its size, licence and data, the best published score, its settings.

    Other commands take one by its name with --benchmark, and a setting of it with --set NAME=VALUE.
    """
    from dspy_proact.benchmarks.registry import benchmarks as known
    from dspy_proact.benchmarks.registry import unusable_benchmarks
    from dspy_proact.cli.views.benchmarks_text import benchmarks_text, entry_document
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next

    for reason in unusable_benchmarks().values():
        say(reason)
    if as_json:
        click.echo(json.dumps({"benchmarks": [entry_document(each) for each in known().values()]}, indent=2))
        return
    click.echo(benchmarks_text(list(known().values())), nl=False)
    say_next("eval", "--benchmark", next(iter(known())))
