"""What people are to rate: a plan of it, and the sheets to fill in."""

import json
from collections import Counter
from typing import TYPE_CHECKING

import click

from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.cli.options.labelling import Labelling
    from dspy_proact.cli.options.labels import Labels
    from dspy_proact.report import Summary

_READ = {
    "--plan": ("--run", "--ratings", "--json"),
    "--draw": ("--run", "--draw-seed"),
    "--template": ("--run", "--items"),
}
"""Options that each of them reads, beside the benchmark."""
_FILL_IN = "Fill in annotator and grade in FILE, a copy for each rater."


def print_labelling(asked: "Labelling", labels: "Labels", as_json: bool) -> None:
    """Print the plan or the sheet that is asked for, one of which is.

    Raises:
        UsageError: It cannot be done, what it is about is not named, or something is said that it does not read.
    """
    from dspy_proact.cli.views.next import Typed, say_next

    _require_read(asked.flag)
    if asked.plan is not None:
        _print_plan(asked.plan, labels, as_json)
        return
    if asked.draw is not None:
        run = _print_draw(asked.draw, asked.draw_seed or 0, labels)
        told = f"{_FILL_IN} Its lines may be shared out, as they stand."
        say_next("report", run, "--ratings", "FILE", before=told)
        return
    click.echo(_template(labels), nl=False)
    say_next("agree", *Typed().options("--benchmark", "--run", "--items"), "--ratings", "FILE", before=_FILL_IN)


def _require_read(asked: str | None) -> None:
    from dspy_proact.cli.options.verb import first_typed

    assert asked, "one of them is asked for"
    if flag := first_typed(but=("--benchmark", asked, *_READ[asked])):
        prints = "plan" if asked == "--plan" else "sheet"
        raise UsageError(f"{flag}: {asked} prints a {prints} and nothing else; leave it out")


def _print_plan(width: float, labels: "Labels", as_json: bool) -> None:
    """Print the plan for intervals of this many points of 100 to either side."""
    from rich.console import Console

    from dspy_proact.benchmarks.proactbench.report import labelling_plan, plan_document, print_plan
    from dspy_proact.cli.options.labels import ratings_of
    from dspy_proact.cli.views.next import say_next

    summary, own = labels.summary, labels.ratings != "published"
    if own and summary is None:
        raise UsageError("--plan: name the run that these ratings are of, with --run")
    ratings = ratings_of(labels.ratings, summary) if own and summary else None
    plan = labelling_plan(width / 100, summary, ratings)
    if as_json:
        click.echo(json.dumps(plan_document(plan), indent=2, allow_nan=False))
        return
    print_plan(plan, Console(soft_wrap=False))
    if plan.best and labels.run:
        say_next("agree", "--run", labels.run, "--draw", str(plan.best.rated))


def _print_draw(count: int, seed: int, labels: "Labels") -> str:
    """Print a sheet of so many responses; the path of the run."""
    from dspy_proact.benchmarks.proactbench.corpus import rating_template
    from dspy_proact.benchmarks.proactbench.report import draw_of
    from dspy_proact.cli.views.message import say
    from dspy_proact.stats import FEWEST_RATED

    summary = labels.summary
    if summary is None:
        raise UsageError("--draw: name the run whose responses are to be rated, with --run")
    _require_conversations(summary)
    draw, items = draw_of(summary, count, seed)
    click.echo(rating_template(items, draw=draw), nl=False)
    counts = Counter(str(item.phase) for item in items)
    if few := [f"{phase} {counts[phase]}" for phase in summary.strata if counts[phase] < FEWEST_RATED]:
        say(f"A corrected score takes {FEWEST_RATED} rated triggers a phase; in this sheet: {', '.join(few)}.")
    return summary.path


def _template(labels: "Labels") -> str:
    from dspy_proact.benchmarks.proactbench.corpus import rating_template, read_rated_items
    from dspy_proact.benchmarks.proactbench.report import items_of

    summary = labels.summary
    if summary is None and labels.items is not None:
        return rating_template(read_rated_items(labels.items))
    if summary is None or labels.items is not None:
        raise UsageError("--template: name what is to be rated, either with --run or with --items")
    _require_conversations(summary)
    return rating_template(items_of(summary))


def _require_conversations(summary: "Summary") -> None:
    if summary.manifest is None:
        raise UsageError(
            f"{summary.path}: a results file does not hold the conversations that a rater must read; name a run"
        )
