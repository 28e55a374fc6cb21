"""`dspy-proact export`: a run as a file for other tools."""

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import READ_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError
from dspy_proact.exchange.forms import FORMS, Form

_FOLDER = Path("exports")
"""Where a file goes that is not named: not among runs, so that a pattern of runs stays one."""
_AFTER = {
    "eval": "To open it: inspect view start --log-dir {folder}",
    "every-eval-ever": "To check them: every_eval_ever validate {file} {beside}",
    "mlflow": "It is the `data` of mlflow.genai.evaluate, read with json.load.",
    "hub": "Its place is the folder .eval_results of the model's repository.",
}
"""What a person does with the file, by the format; any other is a table."""
_ALIKE = groupby(FORMS.items(), key=lambda form: form[1].about)
_ABOUT = "; ".join(f"{', '.join(name for name, _ in forms)}: {about}" for about, forms in _ALIKE)


@verb(
    "export",
    Section(
        Heading.OUTPUT,
        click.Option(["--format", "form"], type=click.Choice(list(FORMS)), required=True, help=f"{_ABOUT}."),
        option.file("--out", "The file; - for standard output. Default: in exports/, named by the run or the format."),
        option.text("--dataset", "OWNER/NAME[:TASK]", "Dataset of the benchmark on the hub, for --format hub."),
    ),
    READ_BENCHMARK,
    first="--format --out --dataset --benchmark",
    example="dspy-proact export runs/mine --format csv",
    brief="Write a run as a file for other tools.",
)
@click.argument("run", type=click.Path(path_type=Path))
def export(run: Path, form: str, out: Path | None, dataset: str | None, chosen: BenchmarkChoice) -> None:
    """Write RUN, the folder of a run or its Inspect log, as a file. An existing file of that name is replaced."""
    from dspy_proact.evaluation.inspect_run import run_at
    from dspy_proact.report import summarize

    chosen.require(run)
    folder, wanted = run_at(run), _form(form, dataset)
    summary = summarize(folder)
    # Called like the folder of the run, however that was named.
    path = out or _FOLDER / (wanted.name(summary) if wanted.name else f"{run.resolve().name}{wanted.ending}")
    with TemporaryDirectory() as scratch:
        if out == option.STANDARD_OUTPUT:
            if wanted.beside:
                raise UsageError(f"--out -: {form} is two files; name the first with --out")
            path = Path(scratch) / "export"
        elif out:
            _require_free(out, run, wanted)
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"{path.parent}: cannot be made: {error.strerror}; name a file with --out") from error
        for lost in wanted.write(folder, summary, path, *([dataset] if wanted.of_dataset else [])):
            say(f"Not in the file: {lost}")
        if summary.manifest and summary.manifest.corpus.held_back:
            say("The corpus is held back: whoever gets the file gets its cases.")
        if out == option.STANDARD_OUTPUT:
            click.echo(path.read_bytes(), nl=False)
            return
    click.echo(str(path))
    _say_more(form, path)


def _say_more(form: str, path: Path) -> None:
    """Say where rows are that stand beside the file, and what to type next."""
    beside = path.with_name(path.stem + FORMS[form].beside)
    if FORMS[form].beside:
        say(f"Its rows are in {beside}.")
    if form == "official":
        say_next(Next.EXPORTED, file=path)
    else:
        say(_AFTER.get(form, "The table is in {file}.").format(folder=path.parent, file=path, beside=beside))


def _form(name: str, dataset: str | None) -> Form:
    if dataset is not None and not FORMS[name].of_dataset:
        raise UsageError(f"--dataset has no effect with --format {name}; leave it out")
    return FORMS[name]


def _require_free(out: Path, run: Path, wanted: Form) -> None:
    from dspy_proact.kept import refuse_overwrite

    refuse_overwrite(out, run)
    if wanted.beside:
        refuse_overwrite(out.with_name(out.stem + wanted.beside), run)
