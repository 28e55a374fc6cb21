"""`dspy-proact benchmarks`, `eval` and `rejudge`: what can be measured, scored, and graded again by other judges."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.arguments import with_options_of_models
from dspy_proact.cli.options.benchmark import (
    ANSWERED_CORPUS,
    BENCHMARK,
    CORPUS,
    GRADING_SCOPE,
    RUN_BENCHMARK,
    SCOPE,
    BenchmarkChoice,
    corpus_of,
    judges_of,
    summary_of,
)
from dspy_proact.cli.options.models import (
    ASSISTANT,
    EMBEDDED,
    GATE,
    JUDGING,
    ROLES,
    NamedModel,
    NamedRoles,
    model_options,
    text_of,
)
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import complain, console, print_json, print_more, say
from dspy_proact.errors import RunError, UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.execution import Execution
    from dspy_proact.models import Gate, ModelSpec
    from dspy_proact.report import Summary
    from dspy_proact.runs import Manifest, Scope


@verb(
    "new",
    first="",
    example="dspy-proact benchmarks new mine.py",
    brief="Write a commented template of a benchmark of your own.",
)
@click.argument("file", type=click.Path(path_type=Path))
def new(file: Path) -> None:
    """Write FILE, a commented template of a benchmark of your own, which runs as it stands.

    FILE ends in .py, and its name is the benchmark's. A file that exists is not replaced.
    """
    from dspy_proact.evaluation.own_file import write_template
    from dspy_proact.evaluation.registry import benchmarks

    write_template(file, benchmarks())
    say(f"The benchmark is in {file}; each comment that begins with YOUR says what to put there.")
    say_next(Next.BENCHMARKS_LISTED, name=file)


@verb(
    "benchmarks",
    Section(Heading.OUTPUT, option.as_json("the list")),
    first="--json",
    example="dspy-proact benchmarks",
    brief="List what can be measured.",
    further=(new,),
)
def benchmarks(as_json: bool) -> None:
    """List the benchmarks: what each measures, its size, licence and data, the best published score, its settings.

    Other commands take a benchmark with --benchmark NAME, and a setting of it with --set NAME=VALUE. `benchmarks new`
    writes a template of your own.
    """
    from dspy_proact.cli.options.settings import settings_of
    from dspy_proact.evaluation.registry import benchmarks as known
    from dspy_proact.evaluation.registry import unusable_benchmarks
    from dspy_proact.plain_text import printable

    for reason in unusable_benchmarks().values():
        say(reason)
    if as_json:
        taken = ("name", "takes", "default", "description")
        documents = [
            {"name": entry.name}
            | _facts(entry)
            | {
                "settings": [
                    {name: getattr(setting, name) for name in taken} for setting in settings_of(entry.settings_type)
                ]
            }
            for entry in known().values()
        ]
        print_json({"benchmarks": documents})
        return
    width = console().width
    formatter = click.HelpFormatter(width=width, max_width=width)
    for entry in known().values():
        facts = {name.replace("_", " "): text for name, text in _facts(entry).items()}
        facts["default judge"] = facts.pop("judge") or "none"
        settings = settings_of(entry.settings_type)
        facts |= {f"--set {setting.usual}": f"{setting.wants}. {setting.description}" for setting in settings}
        facts |= {} if settings else {"settings": "none"}
        with formatter.section(entry.name):
            formatter.write_dl([(name, printable(text or "")) for name, text in facts.items()])
    click.echo(formatter.getvalue().lstrip("\n"), nl=False)
    say_next(Next.BENCHMARKS_LISTED, name=next(iter(known())))


def _facts(entry: "Benchmark[Any, Any]") -> dict[str, str | None]:
    """What is said of a benchmark before its settings, by name in JSON."""
    from dspy_proact.evaluation.published import best_published

    return {
        "measures": entry.about,
        "size": entry.corpus.size,
        "licence": entry.corpus.licence,
        "data": entry.corpus.source,
        "best_published": best_published(entry),
        "judge": entry.models.judge,
        **({"roles": ", ".join(entry.roles)} if entry.roles else {}),
    }


@verb(
    "eval",
    BENCHMARK,
    model_options("--model", "Model under test, a litellm name; repeat it for a run each. Default: embedded."),
    ASSISTANT,
    ROLES,
    model_options(
        "--judge",
        "Judge, a litellm name; repeat it for a jury. Default: the benchmark's; embedded for an embedded model.",
        Heading.JUDGE,
    ),
    JUDGING,
    Section(
        Heading.JUDGE,
        option.number(
            "--min-kappa",
            option.Between(-1, 1),
            "Refuse a --judge-program whose card promises a lower kappa, from -1 to 1, in any stratum.",
            "X",
        ),
    ),
    CORPUS,
    SCOPE,
    GATE,
    Section(
        Heading.OUTPUT,
        option.number(
            "--fail-under",
            option.Between(0, 100),
            "Exit with status 6 if the strict score of a run, the unscored as 0, is lower; 3 comes first. For CI.",
            "SCORE",
        ),
        option.flag("--keep-inputs", "Store the inputs of a private corpus in the run, not only their hashes."),
        option.flag("--show-prompt", "With --dry-run: print what each model is sent first, in place of the estimate."),
    ),
    option.output("the run. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the report"),
    first="--model --system-prompt --judge --benchmark --corpus --limit --stratum --max-usd --out --dry-run --json",
    example="dspy-proact eval --model openai/gpt-4o --limit 50 --dry-run",
    brief="Score a model on a benchmark.",
)
def evaluate(
    chosen: BenchmarkChoice,
    model: NamedModel,
    system_prompt: str | None,
    program: Path | None,
    roles: NamedRoles,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    min_kappa: float | None,
    corpus: str | None,
    scope: "Scope",
    gate: "Gate",
    fail_under: float | None,
    keep_inputs: bool,
    show_prompt: bool,
    output: option.Output,
) -> int:
    """Score a model on a benchmark: it answers every case, and the judge grades each answer.

    Each answer and verdict is kept: repeat the command to resume, and no finished one is paid for twice. Without
    --model, an embedded stand-in runs the bundled sample. Several --model make a run each, in folders under --out.
    """
    from dspy_proact.cli.views.runs import run_all, say_of_corpus
    from dspy_proact.evaluation.checks import checked
    from dspy_proact.evaluation.evaluation import Evaluation

    declared = chosen.declared()
    settings = chosen.settings(declared)
    if show_prompt and not output.dry_run:
        raise UsageError("--show-prompt: has no effect without --dry-run")
    if min_kappa is not None:
        _require_kappa(judge_program, min_kappa)
    models = model.specs(EMBEDDED)
    embedded, alone = {spec.name for spec in models} == {EMBEDDED}, len(models) == 1
    if len({spec.name for spec in models}) < len(models):
        raise UsageError("--model: each model is named once; --epochs N has it answer every case N times")
    judges, named = judges_of(declared, judge, embedded), corpus_of(declared, corpus, embedded)
    published = named == declared.corpus.name
    revision = _recorded_revision(declared.name, named, models, output.out, scope.reuse) if published else None
    cases = checked(declared, "read", declared.read(named, settings, revision))
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
            keep_inputs=keep_inputs,
            roles=roles.specs(declared, spec.name == EMBEDDED),
        )
        for spec in models
    ]
    runs = [(evaluation, _path(evaluation, output.out, alone)) for evaluation in evaluations]
    if show_prompt:
        from dspy_proact.cli.views.transcript import print_prompts

        print_prompts([prompt for evaluation in evaluations for prompt in evaluation.prompts(scope)], output.as_json)
        return 0
    ending = run_all(runs, scope, output)
    if ending is None:
        return 0
    summaries = [summary_of(path) for path in ending.begun]
    _print_summaries(summaries, output.as_json, alone)
    scores = {summary.path: 100 * (summary.leading.strict_weighted.value or 0.0) for summary in summaries}
    under = {path: score for path, score in scores.items() if fail_under is not None and score < fail_under}
    status = ending.close(declared, under=bool(under))
    for path, score in under.items():
        complain(f"{path}: the strict score {score:.1f} is under --fail-under {fail_under:g}")
    return status


def _print_summaries(summaries: "Sequence[Summary]", as_json: bool, alone: bool = True) -> None:
    """Print summaries in their order; as JSON a list, unless no more than one was asked for (`alone`)."""
    from dspy_proact.report import print_summary, summary_document

    if as_json and (summaries or not alone):
        documents = [summary_document(summary) for summary in summaries]
        print_json(documents[0] if alone else documents)
        return
    for summary in summaries:
        print_summary(summary, console(), options=with_options_of_models)
    if summaries:
        print_more(command="dspy-proact report RUN ")


def _require_kappa(program: Path | None, least: float) -> None:
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


def _recorded_revision(
    benchmark: str, corpus: str, models: "Sequence[ModelSpec]", out: Path | None, reuse: Path | None
) -> str | None:
    """The revision that a run of these models has recorded of its corpus: resuming does not move on to a newer one.

    Where a run is reused, it is that one's.
    """
    from dspy_proact.evaluation.participant import run_name
    from dspy_proact.runs import RunFolder

    paths = [out] if out else []
    for model in models:
        paths += sorted((out or Path("runs")).glob(f"{run_name(benchmark, model.name, ())}-*"))
    recorded: list[Manifest] = []
    for folder in map(RunFolder, [reuse] if reuse else paths):
        with suppress(RunError):  # what cannot be read is no run to go on with; if it is asked for, it is refused later
            recorded += [manifest] if (manifest := folder.manifest()).corpus.name == corpus else []
    return max(recorded, key=lambda manifest: manifest.created).corpus.revision if recorded else None


# Another judge

_UNJUDGED = "None of these responses was graded before, so there are no two judges to compare."


@verb(
    "rejudge",
    RUN_BENCHMARK,
    model_options(
        "--judge",
        "Judge, a litellm name; repeat it for a jury. Default: the benchmark's; embedded for embedded responses.",
        Heading.JUDGE,
    ),
    JUDGING,
    ANSWERED_CORPUS,
    GRADING_SCOPE,
    GATE,
    option.output("the run. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the report"),
    first="--judge --judge-program --corpus --limit --stratum --votes --max-usd --out --dry-run --json",
    example="dspy-proact rejudge runs/mine --judge anthropic/claude-opus-4-7",
    brief="Have other judges grade the responses of a run.",
)
@click.argument("run", type=click.Path(path_type=Path))
def rejudge(
    run: Path,
    chosen: BenchmarkChoice,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    corpus: str | None,
    scope: "Scope",
    gate: "Gate",
    output: option.Output,
) -> int:
    """Have other judges grade the responses of RUN, the folder of a run or a results file; no model answers again.

    The responses are copied into a new run, and the two gradings are compared. A results file holds no conversations:
    name the --corpus that it answers.
    """
    from dspy_proact.cli.views.runs import run_all
    from dspy_proact.evaluation.evaluation import Rejudging
    from dspy_proact.evaluation.responses import existing_responses

    declared = chosen.declared(run)
    rejudgings = [
        Rejudging(
            responses,
            judges_of(declared, judge, responses.embedded),
            benchmark=declared,
            settings=chosen.settings_of_grading(declared, responses.settings),
            judge_prompt=judge_prompt,
            judge_program=judge_program,
            gate=gate,
        )
        for responses in existing_responses(declared, run, corpus, chosen.settings(declared, answers=False))
    ]
    alone = len(rejudgings) == 1
    ending = run_all([(rejudging, _path(rejudging, output.out, alone)) for rejudging in rejudgings], scope, output)
    if ending is None:
        return 0
    for done in (done for done in ending.finished if done.pending):
        responses = "response is" if done.pending == 1 else "responses are"
        say(f"{done.pending:,} {responses} not in {run} yet: go on with that run, and then repeat this command.")
    if not alone:
        _print_summaries([summary_of(path) for path in ending.begun], output.as_json, alone)
        return ending.close(declared)
    compared = [_print_regraded(run, path, output.as_json) for path in ending.begun]
    return ending.close(declared, beside=run if any(compared) else None)


def _print_regraded(parent: Path, path: Path, as_json: bool) -> bool:
    """Print the new gradings, and how they agree with those of the parent; whether they can be compared."""
    from dspy_proact.report import compare, summary_document
    from dspy_proact.report.agreement import agreement_lines
    from dspy_proact.report.numbers import document
    from dspy_proact.report.terminal import cell

    child = summary_of(path)
    try:
        agreement = compare(summary_of(parent), child).agreement
    except UsageError:  # no response was graded in both
        agreement = None
    if as_json:
        judges = {"judges": document(agreement, child.nouns)} if agreement else {"judges": None, "reason": _UNJUDGED}
        print_json(summary_document(child) | judges)
        return agreement is not None
    _print_summaries([child], as_json=False)
    for line in agreement_lines(agreement) if agreement else [_UNJUDGED]:
        console().print(cell(line))
    return agreement is not None and agreement.responses > 0
