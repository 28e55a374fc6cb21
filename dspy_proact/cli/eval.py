"""`dspy-proact eval`: score models on a corpus."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dspy_proact.cli.options.benchmark import BENCHMARK, Chosen, corpus_of, judges_of
from dspy_proact.cli.options.cases import CORPUS, SCOPE
from dspy_proact.cli.options.kinds import Output, number_option, output_options
from dspy_proact.cli.options.models import ASSISTANT, EMBEDDED, GATE, JUDGING, NamedModel, model_options, text_of
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import complain
from dspy_proact.cli.views.summary import print_summaries, summary_of
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.execution import Execution
    from dspy_proact.models import Gate, ModelSpec
    from dspy_proact.runs import Manifest, Scope

_MIN_KAPPA = number_option(
    "--min-kappa",
    click.FloatRange(-1, 1),
    "Refuse a --judge-program whose card promises a lower kappa, from -1 to 1, in any stratum.",
    "X",
)
_FAIL_UNDER = number_option(
    "--fail-under",
    click.FloatRange(0, 100),
    "End with status 2 where the strict score of a run, which counts the unscored as 0, is lower; for CI.",
    "SCORE",
)


@verb(
    "eval",
    BENCHMARK,
    model_options("--model", "Model under test, a litellm name; repeat it for a run each. Default: embedded."),
    ASSISTANT,
    model_options(
        "--judge",
        "Judge, a litellm name; repeat it for a jury. Default: the benchmark's; embedded for an embedded model.",
        Heading.JUDGE,
    ),
    JUDGING,
    Section(Heading.JUDGE, _MIN_KAPPA),
    CORPUS,
    SCOPE,
    GATE,
    Section(Heading.OUTPUT, _FAIL_UNDER),
    output_options("the run. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the report"),
    first="--model --system-prompt --judge --benchmark --corpus --limit --stratum --max-usd --out --dry-run --json",
    example="dspy-proact eval --model openai/gpt-4o --limit 50 --dry-run",
    brief="Score a model on a benchmark.",
)
def evaluate(
    chosen: Chosen,
    model: NamedModel,
    system_prompt: str | None,
    program: Path | None,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    min_kappa: float | None,
    corpus: str | None,
    scope: "Scope",
    gate: "Gate",
    fail_under: float | None,
    output: Output,
) -> int:
    """Score a model on a benchmark: it answers every case, and the judge grades each answer.

    Each answer and verdict is kept: repeat the command to resume, and nothing is paid for twice. Without --model, an
    embedded stand-in runs the bundled sample. Several --model make a run each, in folders under --out.
    """
    from dspy_proact.benchmarks.evaluation import Evaluation
    from dspy_proact.cli.views.runs import print_forecasts, run_all, say_of_corpus, say_of_programs

    declared = chosen.declared()
    settings = chosen.settings_of_answers(declared)
    if min_kappa is not None:
        _require_kappa(judge_program, min_kappa)
    models = model.specs(EMBEDDED)
    embedded, alone = {spec.name for spec in models} == {EMBEDDED}, len(models) == 1
    if len({spec.name for spec in models}) < len(models):
        raise UsageError("--model: each model is named once; --epochs N has it answer every case N times")
    judges, named = judges_of(declared, judge, embedded), corpus_of(declared, corpus, embedded)
    published = named == declared.published_corpus
    revision = _recorded_revision(declared.name, named, models, output.out) if published else None
    cases = declared.read(named, settings, revision)
    say_of_corpus(named, cases.corpus)
    evaluations = [
        Evaluation(
            cases,
            spec,
            judges,
            benchmark=declared,
            settings=settings,
            program=program,
            system_prompt=text_of(system_prompt),
            judge_prompt=judge_prompt,
            judge_program=judge_program,
            gate=gate,
        )
        for spec in models
    ]
    for evaluation in evaluations:
        say_of_programs(evaluation)
    runs = [(evaluation, _path(evaluation, output.out, alone)) for evaluation in evaluations]
    if output.dry_run:
        print_forecasts(runs, scope, output.as_json)
        return 0
    ending = run_all(runs, scope)
    summaries = [summary_of(path) for path in ending.begun]
    print_summaries(summaries, output.as_json, alone)
    status = ending.close(declared)
    for summary in summaries:
        score = 100 * (summary.micro.strict_weighted.value or 0.0)
        if fail_under is not None and score < fail_under:
            complain(f"{summary.path}: the strict score {score:.1f} is under --fail-under {fail_under:g}")
            status = status or 2
    return status


def _require_kappa(program: Path | None, least: float) -> None:
    """Raise a `UsageError` where a compiled judge's card does not promise a kappa."""
    from dspy_proact.programs.artefact import read_judge

    if program is None:
        raise UsageError("--min-kappa: has no effect without --judge-program, whose card it reads")
    card = read_judge(program).card
    if not (rows := [row for row in card.rows if row.unit == "kappa"]):
        raise UsageError(f"{program}: --min-kappa: its card has no kappa")
    for row in rows:
        low = row.after.low
        if low is None or low < least:
            promised = row.after.reason or "no lower bound" if low is None else f"at least {low:.2f}"
            raise UsageError(
                f"{program}: --min-kappa {least:g} is not met in {row.title}: quadratic kappa out of fold, against "
                f"the shares of people's grades in {card.provenance.data.name!r}, is {promised} at 95 %"
            )


def _path(execution: "Execution", out: Path | None, alone: bool) -> Path:
    """The folder of a run: `--out` itself, or below it when several models make a run each."""
    from dspy_proact.runs import RunFolder

    default = execution.default_folder
    if alone:
        return out or default
    if out and RunFolder(out).exists:
        raise UsageError(f"{out}: holds a run; several models make a run each, so name a folder for all of them")
    return (out or default.parent) / default.name


def _recorded_revision(benchmark: str, corpus: str, models: "Sequence[ModelSpec]", out: Path | None) -> str | None:
    """The revision that a run of these models has recorded of its corpus: resuming does not move on to a newer one."""
    from dspy_proact.benchmarks.participant import run_name
    from dspy_proact.errors import RunError
    from dspy_proact.runs import RunFolder

    paths = [out] if out else []
    for model in models:
        paths += sorted((out or Path("runs")).glob(f"{run_name(benchmark, model.name, ())}-*"))
    recorded: list[Manifest] = []
    for folder in map(RunFolder, paths):
        with suppress(RunError):  # what cannot be read is no run to go on with; if it is asked for, it is refused later
            recorded += [manifest] if (manifest := folder.manifest()).corpus.name == corpus else []
    return max(recorded, key=lambda manifest: manifest.created).corpus.revision if recorded else None
