"""`dspy-proact label`: plan what people rate, write sheets for them, and serve the pages on which they rate."""

import os
import re
import sys
import webbrowser
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.label_files import FOLDER, export, import_, require_suffix, written
from dspy_proact.cli.next_step import Next, command_line, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import LABEL_BENCHMARK, READ_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.labels import FILES, RATINGS, ratings_of
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import console, print_json, say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.ratings import Draw, RatedItem
    from dspy_proact.label.app import Collection
    from dspy_proact.label.study import Design
    from dspy_proact.report import Summary

_MOST = 10**9
_POINTS = 0.1, 49.0
"""Half of an interval: the narrowest that is printed, and one over nearly the whole scale."""


def draw_or_count(text: str) -> "int | Draw":
    """The number of responses, or the draw of a sheet that is to be written again."""
    from dspy_proact.evaluation.ratings import Draw

    if draw := Draw.read(text):
        return draw
    if not re.fullmatch(r"[1-9]\d{0,8}", text.strip()):
        raise click.BadParameter(f"{text!r} is neither a number of responses nor a draw, such as 60-0-1a2b3c4d")
    return int(text)


@click.group(short_help="Plan what people rate, and have it rated.")
def label() -> None:
    """Plan what people rate, and have them rate it in a browser or in sheets."""


@verb(
    "sheet",
    Section(
        Heading.CASES,
        option.path("--items", "File of items to be rated, in place of RUN."),
        option.text("--draw", "N|DRAW", "Only N responses, balanced across phases and grades.", read=draw_or_count),
        option.flag("--disputed", "Responses on which judges disagree first; no score is corrected by these."),
    ),
    Section(
        Heading.OUTPUT, option.file("--out", "The sheet; - for standard output. Default: a file in the folder labels.")
    ),
    LABEL_BENCHMARK,
    first="--items --draw --disputed --out --benchmark",
    example="dspy-proact label sheet runs/mine --draw 60",
    files=FILES[1:],
    brief="Write a sheet of responses for people to rate.",
)
@click.argument("run", required=False, type=click.Path(path_type=Path))
def sheet(
    run: Path | None,
    items: Path | None,
    draw: "int | Draw | None",
    disputed: bool,
    out: Path | None,
    chosen: BenchmarkChoice,
) -> None:
    """Write a CSV with a row for each response of RUN, of a table of your own, or of --items, without grades.

    Each rater fills in annotator and grade in a copy of it. With --draw N it has N responses in random order, so that
    raters may split the rows, and `report --ratings` estimates what people would have given to all. The column draw
    identifies the draw: --draw with that value writes the same sheet again.
    """
    from dspy_proact.evaluation.people import is_nominal, parts_of
    from dspy_proact.evaluation.ratings import items_in
    from dspy_proact.files.rows import read_bytes
    from dspy_proact.files.sheets import ENCODING, LONGEST_CELL, cut_rows
    from dspy_proact.report.numbers import counted
    from dspy_proact.report.ratings import rating_sheet
    from dspy_proact.stats import FEWEST_RATED

    if out is not None:
        require_suffix(out, ".csv")
    declared = chosen.known(*([run] if run else []))
    if (run is None) == (items is None):
        raise UsageError("label sheet takes what is to be rated: either RUN or --items FILE")
    drawn: Draw | None = None
    summary: Summary | None = None
    if run is None:
        if draw is not None or disputed:
            flag = "--disputed" if draw is None else "--draw"
            raise UsageError(f"{flag} and --items are mutually exclusive: a draw needs the grades of a RUN")
        assert items is not None, "one of them is given"
        rated: Sequence[RatedItem] = items_in(declared, read_bytes(str(items), "a file of items"), str(items))
        name, of = items.stem, ["--items", items]
    else:
        summary = chosen.summary(run)
        if summary.manifest is None and not summary.keeps_inputs:
            raise UsageError(f"{run}: a results file has no conversations, which a rater must read; give a run")
        if not summary.keeps_inputs:
            raise UsageError(f"{run}: holds no inputs, which a rater must read; make it with eval --keep-inputs")
        rated, drawn = _rated_of(declared, summary, draw, disputed)
        of = ["--run", run]
        name = _name_of(run) + (f"--{drawn}" if drawn else "--disputed" if disputed else "")
    text = rating_sheet(rated, declared, draw=drawn)
    file = written(text, out or FOLDER / f"{name}.csv", *filter(None, (run, items)), encoding=ENCODING)
    if cut := cut_rows(text):
        long = f"{counted(cut, 'line')} with a cell of more than {LONGEST_CELL:,} characters"
        say(f"{long}, which spreadsheets cut; `label serve` shows all of it.")
    message = f"Fill in annotator and grade in {file}, a copy for each rater."
    # Of parts, or of labels without an order, no score follows from a grade.
    if summary and drawn and not is_nominal(declared) and not any(part.name for part in parts_of(declared)):
        enough = _enough(summary, drawn.seed)
        if enough and enough <= drawn.count:
            split = f"{message} Raters may split the rows."
            say_next(Next.DRAWN, split, benchmark=chosen.words, run=run, file=file)
            return
        mend = f"use --draw {enough} or more" if enough else "this run has fewer"
        per_stratum = f" per {declared.nouns.stratum}" if len(declared.strata) > 1 else ""
        say(f"A corrected score takes at least {FEWEST_RATED} rated {declared.nouns.cases}{per_stratum}; {mend}.")
    say_next(Next.SHEET_WRITTEN, message, benchmark=chosen.words, items=of, file=file)


def _name_of(run: Path) -> str:
    """Of a run's folder, or of a file without its ending."""
    return run.resolve().stem if run.is_file() else run.resolve().name


def _rated_of(
    declared: "Benchmark[Any, Any]", summary: "Summary", draw: "int | Draw | None", disputed: bool
) -> "tuple[Sequence[RatedItem], Draw | None]":
    """The items of a sheet, in order, and the draw that they are, if any."""
    from dspy_proact.evaluation.ratings import Draw
    from dspy_proact.report.ratings import draw_of, rated_items

    again, count = (draw, draw.count) if isinstance(draw, Draw) else (None, draw)
    if disputed:
        from dspy_proact.label.assignment import draw_cases
        from dspy_proact.label.study import Design

        if again:
            raise UsageError(f"--draw {again} and --disputed are mutually exclusive; give a number")
        by_key = {item.key: item for item in rated_items(summary, declared)}
        return [by_key[key] for key in draw_cases(summary, Design(count, disputed=True))[0]], None
    if count is None:
        return rated_items(summary, declared), None
    drawn, rated = draw_of(summary, count, again.seed if again else 0, declared)
    if again and drawn != again:
        raise UsageError(f"--draw {again}: was drawn from other cases or grades than {summary.path} has")
    return rated, drawn


def _enough(summary: "Summary", seed: int) -> int | None:
    """Responses of the smallest draw with enough rated cases in every phase; None where there is none."""
    from dspy_proact.report.ratings import drawn_keys
    from dspy_proact.stats import FEWEST_RATED

    strata, rated = {outcome.key: outcome.stratum for outcome in summary.outcomes}, Counter[str]()
    for count, key in enumerate(drawn_keys(summary, seed), start=1):
        rated[strata[key]] += 1
        if all(rated[stratum] >= FEWEST_RATED for stratum in summary.strata):
            return count
    return None


@verb(
    "plan",
    Section(
        Heading.CASES,
        option.number("--width", option.Between(*_POINTS), "Half-width of the 95 % interval.", "POINTS", 10),
        option.text("--ratings", RATINGS, "Ratings of RUN, as a pilot study."),
    ),
    Section(Heading.OUTPUT, option.as_json("the plan")),
    READ_BENCHMARK,
    first="--width --ratings --benchmark --json",
    example="dspy-proact label plan runs/mine --width 8",
    brief="Plan how many people must rate how much.",
)
@click.argument("run", required=False, type=click.Path(path_type=Path))
def plan(run: Path | None, width: float, ratings: str | None, as_json: bool, chosen: BenchmarkChoice) -> None:
    """Plan how many people must rate how many responses to correct a score to within --width points of 100.

    Responses and grades are those of RUN, or of the published corpus. How much ratings vary is taken from --ratings,
    which must be of RUN, or from the benchmark's published study, if there is one.
    """
    from dspy_proact.report.plan import labelling_plan, plan_document, print_plan

    if ratings is not None and run is None:
        raise UsageError("--ratings: give the RUN that these ratings are of")
    declared, summary = chosen.known(*([run] if run else [])), None if run is None else chosen.summary(run)
    pilot = ratings_of([ratings], summary) if ratings and summary else None
    planned = labelling_plan(width / 100, summary, pilot, benchmark=declared)
    if as_json:
        print_json(plan_document(planned))
        return
    print_plan(planned, console())
    if run and (best := planned.best):
        sheet = command_line(Next.PLANNED_IN_A_SHEET, benchmark=chosen.words, run=run, count=str(best.rated))
        say(f"To rate in a sheet: {sheet}")
        design = f"--draw {best.rated} --each {best.per_case} --raters {best.raters}".split()
        say_next(Next.PLANNED, benchmark=chosen.words, run=run, design=design)


_PORT = 8427
_SCREENS = {"DISPLAY", "WAYLAND_DISPLAY"}


@verb(
    "serve",
    Section(
        Heading.CASES,
        option.number(
            "--draw", click.IntRange(1, _MOST), "Only N responses of each RUN, balanced across strata and grades."
        ),
        option.number("--each", click.IntRange(1, 1000), "Raters of every response.", default=2, name="per_item"),
        option.number(
            "--raters", click.IntRange(1, 1000), "People among whom the work is divided; 2 with --review.", default=4
        ),
        option.number(
            "--repeated", option.Between(0, 1), "Share of a rater's responses that come twice.", "SHARE", default=0.1
        ),
        option.number("--seed", click.IntRange(0, _MOST), "Seed of the draw.", "N", default=0),
        option.flag("--disputed", "Responses on which judges disagree first; no score is corrected by these."),
        option.flag("--pairs", "Of two RUNs: raters say which of two responses is better."),
        option.flag("--review", "People accept, edit or reject the items of a CORPUS, in place of RUNs."),
        option.number(
            "--double-share",
            option.Between(0, 1),
            "With --review: share of the items that two people review.",
            "SHARE",
            0.2,
        ),
    ),
    Section(
        Heading.SERVED,
        option.number("--port", click.IntRange(0, 65535), "Port to listen on; 0 for any that is free.", default=_PORT),
        option.text("--host", "HOST", "Address to listen on. Default: this machine alone."),
        option.text("--url", "URL", "Where raters reach it, such as a proxy with TLS."),
        option.flag("--no-browser", "Do not open the owner's page in a browser."),
    ),
    Section(
        Heading.OUTPUT,
        option.path("--db", "File of the study. Default: labels/RUN.db; CORPUS.reviews.db with --review."),
    ),
    LABEL_BENCHMARK,
    first="--draw --each --raters --pairs --review --port --host --no-browser --db",
    example="dspy-proact label serve runs/mine --draw 60 --each 3",
    brief="Have people rate responses, or review a corpus, in a browser.",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|CORPUS", type=click.Path(path_type=Path))
def serve(
    runs: tuple[Path, ...],
    draw: int | None,
    per_item: int,
    raters: int,
    repeated: float,
    seed: int,
    disputed: bool,
    pairs: bool,
    review: bool,
    double_share: float,
    port: int,
    host: str | None,
    url: str | None,
    no_browser: bool,
    db: Path | None,
    chosen: BenchmarkChoice,
) -> None:
    """Serve pages on which people rate the responses of RUNs, or of a table of yours, blind, by mouse or keyboard.

    Whoever has the link for raters joins under a pseudonym, reads a briefing, practises, and rates. Every rating is in
    the file of the study before its click is answered. Ctrl-C stops; the same command without the design goes on.
    `agree --ratings`, `report --ratings` and `optimize judge` read the file.

    With --review people read the items of CORPUS, a file or folder as `eval --corpus` takes it, accept, edit or reject
    each, and say how real it reads. The corpus stays as it is. --draw, --raters and --seed apply to its items.
    """
    try:
        from dspy_proact.label.serving import open_study
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install starlette uvicorn") from error
    from dspy_proact.label.study import Design

    design = Design(draw, per_item, max(per_item, raters), repeated, seed, disputed, "pairs" if pairs else "grades")
    if review:
        design = replace(design, raters=raters if first_typed(of=("--raters",)) else 2, shared=double_share)
        file, again, collection = _reviewed(runs, db, chosen, design)
    else:
        if first_typed(of=("--double-share",)):
            raise UsageError("--double-share: has an effect with --review alone; --each is for responses")
        if corpora := [run for run in runs if (run / "corpus.json").exists()]:
            raise UsageError(
                f"{corpora[0]}: is a corpus; people review it with --review, and rate the run of a model on it"
            )
        file = db or FOLDER / f"{'--'.join(_name_of(run) for run in runs)}.db"
        chosen = chosen.of_study(file) if file.exists() else chosen
        declared, summaries = chosen.known(*runs), [chosen.summary(run) for run in runs]
        again = _begun(file, "--draw", "--each", "--raters", "--repeated", "--seed", "--disputed", "--pairs")
        if not again and not pairs and declared.people is None:
            raise UsageError(f"{declared.name}: no command reads people's grades of it; --pairs of two runs is read")
        collection = open_study(file, declared, summaries, design)
    _serve(collection, file, again, port, host, url, no_browser)
    match collection.store.study.design.kind:
        case "reviews":
            say_next(Next.REVIEWED, "Stopped; every review is kept.", file=file)
        case kind:
            step, several = (
                Next.CHOSEN if kind == "pairs" else Next.RATED,
                ["--run", runs[0]] if len(runs) > 1 else None,
            )
            say_next(step, "Stopped; every rating is kept.", benchmark=chosen.words, run=several, file=file)


def _begun(file: Path, *flags: str) -> bool:
    """Whether a study was begun in a file; a `UsageError` where it was, and one of the flags of its design is given."""
    if file.exists() and (flag := first_typed(of=flags)):
        raise UsageError(f"{flag}: {file} was begun already; leave it out, or begin another study with --db")
    return file.exists()


def _reviewed(
    corpora: Sequence[Path], db: Path | None, chosen: BenchmarkChoice, wanted: "Design"
) -> "tuple[Path, bool, Collection]":
    """The file of the review of a corpus, whether it was begun before, and the review, begun where it was not."""
    from dspy_proact.audit.audit import benchmark_of_corpus
    from dspy_proact.label.review import open_review

    if flag := first_typed(of=("--each", "--repeated", "--disputed", "--pairs")):
        raise UsageError(f"{flag}: has no effect with --review, where --double-share says what two people review")
    if len(corpora) > 1 or not corpora[0].exists():
        raise UsageError(f"--review takes one CORPUS, a file or folder; {corpora[-1]} is not it")
    corpus, double = corpora[0], wanted.raters > 1 and wanted.shared > 0
    if first_typed(of=("--double-share",)) and wanted.shared and not double:
        raise UsageError("--double-share: one person cannot review an item twice; leave it out, or give --raters 2")
    path = corpus.resolve()
    file = db or path.with_name(f"{path.name if path.is_dir() else path.stem}.reviews.db")
    again = _begun(file, "--draw", "--raters", "--seed", "--double-share")
    shared = {"ratings": 2, "shared": wanted.shared} if double else {"ratings": 1, "shared": 0.0}
    design = replace(wanted, repeated=0.0, kind="reviews", **shared)
    return file, again, open_review(file, benchmark_of_corpus(str(corpus), (), chosen.benchmark), corpus, design)


def _serve(
    collection: "Collection", file: Path, again: bool, port: int, host: str | None, url: str | None, no_browser: bool
) -> None:
    """Serve a study until Ctrl-C, and say how to reach it; one that was begun and served to nobody is removed again."""
    from dspy_proact.label.access import is_loopback
    from dspy_proact.label.serving import serve as serve_pages

    design, unserved = collection.store.study.design, [] if again else [file, file.with_suffix(".links")]
    count = len(collection.store.units())

    def ready(address: str) -> None:
        unserved.clear()
        if design.kind == "reviews":
            double = sum(design.raters_of(rank) > 1 for rank in range(count))
            say(f"{count} items for {design.raters} reviewers, {double} of them for two. Reviews: {file}")
        else:
            what = "pairs" if design.kind == "pairs" else "items"
            say(f"{len(collection.items)} {what}, each for {design.ratings} of {design.raters} raters. Ratings: {file}")
        who = "reviewers" if design.kind == "reviews" else "raters"
        click.echo(f"{f'For {who}:':<15}{address}/#{collection.entry}")
        click.echo(f"For the owner: {address}/#{collection.owner}")
        if host and not is_loopback(host):
            say(f"Caution: whoever reaches {host} can read along; put a proxy with TLS before it, which --url names.")
        say("Stop with Ctrl-C; the same command without the design (--draw, --each …) goes on.")
        if not no_browser and sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.keys() & _SCREENS):
            # By way of a file: others who use this machine can read the arguments of a process.
            link = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={address}/#{collection.owner}">'
            (opening := Path(folder) / "open.html").write_text(link)
            webbrowser.open(opening.as_uri())

    with TemporaryDirectory(prefix="dspy-proact-") as folder:
        try:
            serve_pages(collection, host=host or "127.0.0.1", port=port, url=url, ready=ready)
        except UsageError:
            for made in unserved:  # nobody was let in yet
                made.unlink(missing_ok=True)
            raise


for command in (export, import_, plan, serve, sheet):
    label.add_command(command)
