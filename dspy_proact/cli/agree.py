"""`dspy-proact agree`: how far a judge agrees with people."""

import json
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import choice_option, number_option
from dspy_proact.cli.options.labels import Labels, label_options
from dspy_proact.cli.options.output import json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.report.proactbench import Choices, Study


_COMPARED = Section(
    Heading.COMPARED,
    (
        choice_option(
            "--consensus",
            ("published", "soft"),
            "One label an item, its commonest grade; or the share of each grade.",
        ),
        number_option(
            "--min-ratings", click.IntRange(1), "Compare the judge on items with as many; alpha keeps all.", default=1
        ),
        click.Option(
            ["--exclude"], type=click.Choice(["published"]), help="Leave out raters by the published rule: circular."
        ),
    ),
)
_PRINTED = Section(
    Heading.OUTPUT,
    (
        click.Option(
            ["--template"], is_flag=True, help="Print a sheet for raters of the run or the items, and no numbers."
        ),
        json_option("the numbers"),
    ),
)


@verb(
    "agree",
    label_options(
        "published",
        "published|sample|proactbench|PATH",
        "Bundled labels, the bundled sample's, the published study in full (fetched), or your own.",
    ),
    _COMPARED,
    _PRINTED,
    example="dspy-proact agree --ratings ratings.csv --run runs/mine --consensus soft",
)
def agree(labels: Labels, consensus: Any, min_ratings: int, exclude: str | None, template: bool, as_json: bool) -> None:
    """Say how far the judge agrees with people, and people with each other, by phase and with intervals.

    By default on the published study: 275 ratings of 59 responses by 18 people, judged by GPT-5.4. Ratings of your own
    are a CSV or JSONL file (item, annotator, grade, confidence, reason) of the cases of --run or of --items.
    """
    from rich.console import Console

    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import Typed, say_next
    from dspy_proact.report.proactbench import Choices, print_study, study_document

    if template:
        click.echo(_template(labels), nl=False)
        told = "Fill in annotator and grade in FILE, a copy for each rater."
        say_next("agree", *Typed().options("--run", "--items"), "--ratings", "FILE", before=told)
        return
    found = _study(labels, Choices(consensus, min_ratings, exclude is not None))
    if as_json:
        click.echo(json.dumps(study_document(found), indent=2, allow_nan=False))
        return
    print_study(found, Console(soft_wrap=False))
    if labels.run is None and labels.items is None:
        say("A sheet for raters of your own: --template with --run RUN.")
    say_next("agree", *Typed().options(), "--json")


def _study(labels: Labels, choices: "Choices") -> "Study":
    from dspy_proact.report.proactbench import study

    if labels.ratings == "published" and (labels.run or labels.items):
        flag = "--run" if labels.run else "--items"
        raise UsageError(f"{flag}: name the ratings of it with --ratings FILE, or print a sheet for them: --template")
    summary = labels.summary
    return study(labels.load(), choices, embedded=summary is not None and summary.embedded)


def _template(labels: Labels) -> str:
    from dspy_proact.corpus import rating_template, read_rated_items
    from dspy_proact.report.proactbench import items_of

    summary = labels.summary
    if summary is None and labels.items is not None:
        return rating_template(read_rated_items(labels.items))
    if summary is None or labels.items is not None:
        raise UsageError("--template: name what is to be rated, either with --run or with --items")
    if summary.manifest is None:
        raise UsageError(
            f"{labels.run}: a results file does not hold the conversations that a rater must read; name a run"
        )
    return rating_template(items_of(summary))
