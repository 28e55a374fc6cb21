"""`dspy-proact export`: a run as a file for other tools, or several as rows for training."""

from collections.abc import Sequence
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
    "every-eval-ever": "Its rows are in {beside}.\nTo check them: every_eval_ever validate {file} {beside}",
    "mlflow": "It is the `data` of mlflow.genai.evaluate, read with json.load.",
    "hub": "Its place is the folder .eval_results of the model's repository.",
    "rl": "What a model must not see is in {beside}.\nIts split train is the train_dataset of trl.GRPOTrainer.",
    "sft": "It is the train_dataset of trl.SFTTrainer, read with datasets.load_dataset.",
    "dpo": "It is the train_dataset of trl.DPOTrainer, read with datasets.load_dataset.",
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
        option.number(
            "--margin",
            click.FLOAT,
            "Least difference of scores between the answers of a pair, for --format dpo. Default: 1.",
            "X",
        ),
    ),
    READ_BENCHMARK,
    first="--format --out --dataset --margin --benchmark",
    example="dspy-proact export runs/mine --format csv",
    brief="Write a run as a file for other tools.",
)
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
def export(
    runs: tuple[Path, ...],
    form: str,
    out: Path | None,
    dataset: str | None,
    margin: float | None,
    chosen: BenchmarkChoice,
) -> None:
    """Write RUN, the folder of a run or its Inspect log, as a file; several for rl, sft and dpo.

    An existing file of that name is replaced.
    """
    from dspy_proact.evaluation.inspect_run import run_at
    from dspy_proact.report import summarize

    wanted = _form(form, runs, dataset, margin)
    chosen.require(*runs)
    folders = [run_at(run) for run in runs]
    summaries = [summarize(folder) for folder in folders]
    # Called like the folder of the run, however that was named.
    named = wanted.name(summaries[0]) if wanted.name else f"{runs[0].resolve().name}{wanted.ending}"
    path = out or _FOLDER / named
    with TemporaryDirectory() as scratch:
        if out == option.STANDARD_OUTPUT:
            if wanted.beside:
                raise UsageError(f"--out -: {form} is two files; name the first with --out")
            path = Path(scratch) / "export"
        elif out:
            for run in runs:
                _require_free(out, run, wanted)
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"{path.parent}: cannot be made: {error.strerror}; name a file with --out") from error
        more = [dataset] if wanted.of_dataset else [margin] if wanted.has_margin else []
        of = [summaries] if wanted.of_several else [folders[0], summaries[0]]
        for lost in wanted.write(*of, path, *more):
            say(f"Not in the file: {lost}")
        if any(summary.manifest and summary.manifest.corpus.held_back for summary in summaries):
            say("The corpus is held back: whoever gets the file gets its cases.")
        if out == option.STANDARD_OUTPUT:
            click.echo(path.read_bytes(), nl=False)
            return
    click.echo(str(path))
    _say_more(form, path)


def _say_more(form: str, path: Path) -> None:
    """Say where rows are that stand beside the file, and what to type next."""
    beside = path.with_name(path.stem + FORMS[form].beside)
    if form == "official":
        say_next(Next.EXPORTED, file=path)
    else:
        for line in _AFTER.get(form, "The table is in {file}.").split("\n"):
            say(line.format(folder=path.parent, file=path, beside=beside))


def _form(name: str, runs: Sequence[Path], dataset: str | None, margin: float | None) -> Form:
    form = FORMS[name]
    if dataset is not None and not form.of_dataset:
        raise UsageError(f"--dataset has no effect with --format {name}; leave it out")
    if margin is not None and not form.has_margin:
        raise UsageError(f"--margin has no effect with --format {name}; leave it out")
    if len(runs) > 1 and not form.of_several:
        several = ", ".join(known for known, other in FORMS.items() if other.of_several)
        raise UsageError(f"--format {name} is of one run, and {len(runs)} are named; several are for {several}")
    return form


def _require_free(out: Path, run: Path, wanted: Form) -> None:
    from dspy_proact.kept import refuse_overwrite

    refuse_overwrite(out, run)
    if wanted.beside:
        refuse_overwrite(out.with_name(out.stem + wanted.beside), run)
