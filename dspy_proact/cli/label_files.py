"""`dspy-proact label export` and `label import`: the ratings of a study as files, and files as its ratings."""

from contextlib import closing
from pathlib import Path

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import READ_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.labels import Labels
from dspy_proact.cli.options.paths import summary_of
from dspy_proact.cli.options.verb import FileForm, Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import say
from dspy_proact.errors import CorpusError, UsageError

FOLDER = Path("labels")
"""Where a file goes that is not named."""


@verb(
    "export",
    Section(Heading.CASES, option.path("--run", "The run whose ratings are written, where the study has several.")),
    Section(
        Heading.OUTPUT,
        option.flag("--html", "Write a page for one rater, who rates without a network and gives back a file."),
        option.text("--rater", "NAME", "With --html: their pseudonym; a new one gets a share of the study."),
        option.path("--official", "Folder for the layout of the official study: the items, and a file a rater."),
        option.file("--out", "The file; - for standard output. Default: a file in the folder labels."),
    ),
    READ_BENCHMARK,
    first="--html --rater --run --official --out --benchmark",
    example="dspy-proact label export labels/mine.db --html --rater ann",
    brief="Write the ratings of a study, or a page for a rater.",
)
@click.argument("study", type=click.Path(path_type=Path))
def export(
    study: Path,
    html: bool,
    rater: str | None,
    run: Path | None,
    official: Path | None,
    out: Path | None,
    chosen: BenchmarkChoice,
) -> None:
    """Write the ratings of STUDY, the file of `label serve`, as a sheet that is filled in: a row a rating.

    Of a study that reviews a corpus it writes JSON Lines: a review a line, and the owner's decisions.

    Everything that reads ratings reads STUDY itself, too; a sheet is for other programs, and to be kept. Of a study of
    pairs it has a row a choice, as `agree --pairs` reads it. With --html what one rater is to rate is written as a page
    that works from disk; `label import` takes the file that it saves.
    """
    from dspy_proact.label.store import kind_of

    if (kind := kind_of(study)) == "reviews":
        _write_reviews(study, out)
        return
    if html != (rater is not None):
        raise UsageError("--html and --rater NAME come together: a page is for one rater")
    if out is not None:
        require_suffix(out, ".html" if html else ".csv")
    pairs = kind == "pairs"
    if (rater or pairs) and (flag := first_typed(("--run", "--official"))):
        raise UsageError(
            f"{flag}: has no effect {'with --html' if rater else 'on choices between two runs'}; leave it out"
        )
    if rater is not None:
        _write_page(study, rater, out, chosen)
    elif pairs:
        from dspy_proact.files.sheets import ENCODING
        from dspy_proact.label.exchange import pair_study, runs_of
        from dspy_proact.report.pairs import choices_sheet

        runs = runs_of(study)
        text = choices_sheet(pair_study(study, chosen.known(*runs), list(map(summary_of, runs))))
        file = written(text, out or FOLDER / f"{study.stem}.csv", study, encoding=ENCODING)
        say_next(Next.CHOSEN, benchmark=None, file=file)
    else:
        _write_ratings(study, run, official, out, chosen)


def _write_reviews(study: Path, out: Path | None) -> None:
    from dspy_proact.label.reviews import ReviewStore, reviews_of
    from dspy_proact.report.numbers import counted

    if flag := first_typed(("--run", "--html", "--rater", "--official")):
        raise UsageError(f"{flag}: has no effect on reviews of a corpus; leave it out")
    if out is not None:
        require_suffix(out, ".jsonl")
    reviews = reviews_of(study)
    text = "".join(f"{review.model_dump_json()}\n" for review in reviews)
    file = written(text, out or FOLDER / f"{study.stem}.jsonl", study)
    message = f"{counted(sum(not review.decision for review in reviews), 'review')} in {file}."
    with closing(ReviewStore.open(study)) as store:
        corpus = Path(store.study.runs[0].path)
    if (corpus / "corpus.json").exists():
        say_next(Next.REVIEWS_EXPORTED, message, corpus=corpus, file=file)
    else:
        say(message)


def _write_ratings(
    study: Path, run: Path | None, official: Path | None, out: Path | None, chosen: BenchmarkChoice
) -> None:
    from dspy_proact.files.sheets import ENCODING
    from dspy_proact.report.ratings import rating_sheet

    if official is not None and (out is not None or official.exists()):
        raise UsageError(f"--official {official}: {'leave --out out' if out else 'exists; name another folder'}")
    labels, chosen = Labels.named((str(study),), run, None).under(chosen)
    assert labels.run, "a study has a run"
    declared = chosen.known(labels.run)
    ratings = labels.load(declared)
    if official is not None:
        if declared.people is None or declared.people.layout is None:
            raise UsageError(f"--official: {declared.name} has no such layout; leave it out")
        for path, text in declared.people.layout.files(ratings).items():
            written(text, official / path)
        say_next(Next.RATED, benchmark=None, run=None, file=official)
        return
    name = f"{study.stem}--{run.resolve().name}.csv" if run else f"{study.stem}.csv"
    text = rating_sheet(ratings.items, declared, draw=next(iter(ratings.draws), None), grades=ratings.by_item)
    file = written(text, out or FOLDER / name, study, encoding=ENCODING)
    say_next(Next.RATED, benchmark=chosen.words, run=["--run", labels.run], file=file)


def _write_page(study: Path, name: str, out: Path | None, chosen: BenchmarkChoice) -> None:
    from dspy_proact.label.exchange import runs_of
    from dspy_proact.label.offline import offline_page
    from dspy_proact.label.store import Store
    from dspy_proact.label.study import rated_of

    runs, chosen = runs_of(study), chosen.of_study(study)
    with closing(Store.open(study)) as store:
        declared = chosen.known(*runs)
        rated = rated_of(declared, list(map(chosen.summary, runs)), store.study.design.kind)
        rater, page = offline_page(store, store.chosen(rated, complete=False), name, declared)
    written(page, out or FOLDER / f"{study.stem}--{rater.number}.html", study)
    say(f"Send it to {rater.name}, who opens it in a browser, rates, and saves a file for `label import {study} FILE`.")


@verb(
    "import",
    Section(Heading.CASES, option.path("--run", "The run that the files rate, where the study has several.")),
    READ_BENCHMARK,
    first="--run --benchmark",
    example="dspy-proact label import labels/mine.db ann.csv",
    files=(
        FileForm(
            "Ratings to import",
            "A CSV with these columns, of which part, confidence and reason may be left out, such as a sheet of "
            "`label sheet`. Or what Label Studio exports as JSON: data.item is the key of the item, and controls are "
            "called grade, confidence and reason. Or what Argilla's records.to_json writes: the id of a record is the "
            "key of the item, and questions are called so. A part of a grading has its own name in place of grade.",
            """item,annotator,part,grade,confidence,reason
note,ann,,PASS,5,"It takes up the move, unasked."
""",
        ),
    ),
    brief="Add ratings of files to a study.",
)
@click.argument("study", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
def import_(study: Path, files: tuple[Path, ...], run: Path | None, chosen: BenchmarkChoice) -> None:
    """Add the ratings of each FILE to STUDY, the file of `label serve`: all of a file, or none where it is at fault.

    A FILE is a sheet, the export of a labelling tool, or what the page of `label export --html` saved.

    What a rater has rated in the study stays; the same file again adds nothing. Raters are found by their pseudonym;
    those of a labelling tool are called by their number in it.
    """
    from dspy_proact.files.labels import LabelFile, counted_words, labels_in
    from dspy_proact.files.rows import read_bytes, text_of
    from dspy_proact.label.exchange import import_labels, runs_of
    from dspy_proact.label.offline import SAVED, import_saved
    from dspy_proact.label.store import Store
    from dspy_proact.label.study import rated_of
    from dspy_proact.report.numbers import counted

    runs = [run] if run else runs_of(study)
    chosen = chosen.of_study(study)
    declared = chosen.known(*runs)
    with closing(Store.open(study)) as store:
        pairs = store.study.design.kind == "pairs"
        rated = rated_of(declared, list(map(chosen.summary, runs)), store.study.design.kind)
        items = store.chosen(rated, complete=False)
        parts = list(dict.fromkeys(item.part.name for item in items))
        for file in files:
            text = text_of(read_bytes(str(file), "a file of ratings"), str(file))
            if SAVED.match(text):
                added, read = import_saved(store, items, text, str(file)), LabelFile(())
            else:
                read = labels_in(text, str(file), parts)
                if not read.labels:
                    raise CorpusError("the grade is empty on every line; fill it in", source=str(file))
                added = import_labels(store, items, read.labels)
            notes = (
                (added.known, f"{added.known} were there, {added.differing} of them with another grade, which stays"),
                (added.undone, f"{added.undone} that the rater has undone stay undone"),
                (read.ungraded, f"{counted(read.ungraded, 'line')} without a grade"),
                (read.left_out, f"not counted by the labelling tool: {counted_words(read.left_out)}"),
                (not added.new | added.known | added.undone, "the file has none"),
            )
            say("; ".join([f"{file}: {counted(added.new, 'rating')} added", *(note for of, note in notes if of)]) + ".")
    say_next(Next.CHOSEN if pairs else Next.RATED, benchmark=chosen.words, run=None, file=study)


def require_suffix(out: Path, suffix: str) -> None:
    """Raise a `UsageError` where the name of a file says that it holds something else than is written."""
    if out.suffix and out.suffix.lower() != suffix:
        raise UsageError(f"--out {out}: what is written is {suffix[1:].upper()}; name a file that ends with {suffix}")


def written(text: str, file: Path, *inputs: Path, encoding: str = "utf-8") -> Path:
    """Write a file and print its path, FILE for standard output; a `UsageError` where it exists with other contents."""
    from dspy_proact.kept import refuse_overwrite, write_file

    if file == option.STANDARD_OUTPUT:
        click.echo(text, nl=False)
        return Path("FILE")
    refuse_overwrite(file, *inputs)
    if file.is_file() and file.read_bytes() != text.encode(encoding):
        raise UsageError(f"{file}: exists with other contents, which may have been filled in; name another with --out")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
    if file.exists() and not file.is_file() and not file.is_dir():
        file.write_text(text, encoding="utf-8")  # a pipe cannot be replaced by a whole file
    else:
        write_file(file, text.encode(encoding))
    click.echo(str(file))
    return file
