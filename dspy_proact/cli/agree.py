"""`dspy-proact agree`: how far a judge agrees with people."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dspy_proact.report import Choices, Study, Summary


@click.command()
@click.option(
    "--ratings",
    default="published",
    show_default=True,
    metavar="published|sample|proactbench|PATH",
    help="Bundled labels, the bundled sample's, the published study in full (fetched), or your own.",
)
@click.option("--run", type=click.Path(path_type=Path), help="Run whose responses a file of ratings is of.")
@click.option("--items", type=click.Path(path_type=Path), help="File of the items that a file of ratings is of.")
@click.option(
    "--consensus",
    type=click.Choice(["published", "soft"]),
    default="published",
    show_default=True,
    help="One label an item, its commonest grade; or the share of each grade.",
)
@click.option(
    "--min-ratings",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Compare the judge on items with as many; alpha keeps all.",
)
@click.option("--exclude", type=click.Choice(["published"]), help="Leave out raters by the published rule: circular.")
@click.option("--template", is_flag=True, help="Print a sheet for raters of the run or the items, and no numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def agree(
    ratings: str,
    run: Path | None,
    items: Path | None,
    consensus: Any,
    min_ratings: int,
    exclude: str | None,
    template: bool,
    as_json: bool,
) -> None:
    """Say how far the judge agrees with people, and people with each other, by phase and with intervals.

    By default on the published study: 275 ratings of 59 responses by 18 people, judged by GPT-5.4. Ratings of your own
    are a CSV or JSONL file (item, annotator, grade, confidence, reason) of the cases of --run or of --items.
    """
    from rich.console import Console

    from dspy_proact.cli.saying import say
    from dspy_proact.report import Choices, print_study, study_document

    if template:
        click.echo(_template(run, items), nl=False)
        say("Next: fill in annotator and grade, a copy for each rater; then dspy-proact agree with --ratings FILE")
        return
    found = _study(ratings, run, items, Choices(consensus, min_ratings, exclude is not None))
    if as_json:
        click.echo(json.dumps(study_document(found), indent=2, allow_nan=False))
        return
    print_study(found, Console(soft_wrap=False))
    if run is None and items is None:
        say("Next: dspy-proact agree --template --run RUN, a sheet for raters of your own")
    else:
        say("Next: the same with --json")


def _study(ratings: str, run: Path | None, items: Path | None, choices: "Choices") -> "Study":
    from dspy_proact.cli.labels import load
    from dspy_proact.errors import UsageError
    from dspy_proact.report import study

    if ratings == "published" and (run or items):
        flag = "--run" if run else "--items"
        raise UsageError(f"{flag}: name the ratings of it with --ratings FILE, or print a sheet for them: --template")
    summary = _summary(run)
    return study(load(ratings, summary, items), choices, embedded=summary is not None and summary.embedded)


def _template(run: Path | None, items: Path | None) -> str:
    from dspy_proact.corpus import rating_template, read_rated_items
    from dspy_proact.errors import UsageError
    from dspy_proact.report import items_of

    summary = _summary(run)
    if summary is None and items is not None:
        return rating_template(read_rated_items(items))
    if summary is None or items is not None:
        raise UsageError("--template: name what is to be rated, either with --run or with --items")
    if summary.manifest is None:
        raise UsageError(f"{run}: a results file does not hold the conversations that a rater must read; name a run")
    return rating_template(items_of(summary))


def _summary(run: Path | None) -> "Summary | None":
    from dspy_proact.cli.report import summary_of

    return None if run is None else summary_of(run)
