"""`dspy-proact generate publish`: a made corpus as others get it, and the part of it that is held back."""

import re
from contextlib import suppress
from datetime import date as day
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import PUBLISHED_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.verb import Bundle, Heading, Section, verb
from dspy_proact.cli.views.message import print_json, say
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK

if TYPE_CHECKING:
    from dspy_proact.publish.publishing import Owner

_LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def _owner(*, licence: str | None, date: str | None, **stated: str | None) -> "Owner":
    from dspy_proact.publish.publishing import Owner  # with pydantic, which help does without

    if licence and not _LICENCE.fullmatch(licence.lower()):
        raise UsageError(f"--licence {licence!r}: name it by an identifier of the Hub, such as cc-by-4.0")
    if date and not _is_day(date):
        raise UsageError(f"--date {date!r}: write it as YYYY-MM-DD")
    stated |= {"licence": (licence or "unknown").lower(), "date": date}
    return Owner(**{name: text for name, text in stated.items() if text})


def _is_day(text: str) -> bool:
    with suppress(ValueError):
        return day.fromisoformat(text).isoformat() == text
    return False


_OWNER = Bundle(
    "owner",
    _owner,
    Section(
        Heading.OUTPUT,
        option.text("--licence", "ID", "Licence by the Hub's identifier, such as cc-by-4.0. Default: none is named."),
        option.text("--name", "TEXT", "Title of the corpus. Default: the benchmark's, with the product's name."),
        option.text("--contact", "TEXT", "Who publishes and maintains the corpus."),
        option.text("--url", "URL", "Address at which it will be found."),
        option.text("--terms", "TEXT", "What the models' providers say about publishing their output."),
        option.text("--date", "YYYY-MM-DD", "Date of publication."),
    ),
)


@verb(
    "publish",
    PUBLISHED_BENCHMARK,
    Section(
        Heading.CASES,
        option.path("--reviews", "People's reviews: rejected items are left out, edits applied."),
        option.number(
            "--held-back",
            option.Between(0, 1, min_open=True, max_open=True),
            "Share of the groups, such as personas, to hold back. Default: none.",
            "SHARE",
        ),
    ),
    Section(Heading.OUTPUT, option.path("--out", "Folder to be published. Default: DIR-published.")),
    _OWNER,
    Section(Heading.OUTPUT, option.as_json("what was published")),
    first="--reviews --held-back --licence --name --contact --terms --out",
    example="dspy-proact generate publish corpora/mine --held-back 0.5 \\\n    --licence cc-by-4.0 --out mine-public",
    brief="Write a made corpus for publication.",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def publish(
    folder: Path,
    chosen: BenchmarkChoice,
    reviews: Path | None,
    held_back: float | None,
    out: Path | None,
    owner: "Owner",
    as_json: bool,
) -> None:
    """Write a made corpus for publication: rows, card, datasheet, Croissant, canaries, and who wrote what.

    DIR is the folder of a corpus of `generate`. The held-back part goes to a folder of its own and is never published:
    the card has its sha256, and `optimize` refuses it.
    """
    from dspy_proact.publish.publication import publish as published
    from dspy_proact.report.numbers import counted

    made = published(
        folder,
        out,
        reviews=reviews or (),
        held_back=held_back,
        owner=owner,
        benchmark=chosen.known() if chosen.benchmark else None,
    )
    record = made.record
    if as_json:
        hidden_path = str(made.held_back) if made.held_back else None
        print_json({"out": str(made.path), "held_back_in": hidden_path, **record.model_dump(mode="json")})
        return
    say(f"In {made.path}: {counted(record.items, *made.items)}. Read its README.md before you publish it.")
    if made.notice:
        say(made.notice)
    if made.held_back and record.held_back:
        say(f"In {made.held_back}, never to be published: {counted(record.held_back.items, *made.items)}.")
    if record.licence == "unknown":
        say("No licence is named, so that nobody may use it: name one with --licence, and another folder with --out.")
    if record.reviews is None:
        say("Nobody has reviewed it, and its card says so.")
    of = chosen.words or (["--benchmark", record.benchmark] if record.benchmark != DEFAULT_BENCHMARK else [])
    say_next(Next.CORPUS_MADE, benchmark=of, options=["--model", "embedded"], corpus=made.path)
