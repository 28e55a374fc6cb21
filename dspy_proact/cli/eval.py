"""`dspy-proact eval`: models under test, and how they are asked, scored on a benchmark."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dspy_proact.cli.options import option
from dspy_proact.cli.options.answers import ANSWERS, NamedAnswers
from dspy_proact.cli.options.benchmark import BENCHMARK, CORPUS, BenchmarkChoice, corpus_of, judges_of
from dspy_proact.cli.options.models import (
    APPS,
    EMBEDDED,
    JUDGING,
    ROLES,
    RUN_GATE,
    WORDINGS,
    NamedApps,
    NamedModel,
    NamedRoles,
    model_options,
)
from dspy_proact.cli.options.paths import summary_of
from dspy_proact.cli.options.scope import SCOPE
from dspy_proact.cli.options.verb import Heading, Section, flags_of, typed, verb
from dspy_proact.cli.views.message import complain
from dspy_proact.errors import RunError, UsageError

if TYPE_CHECKING:
    from dspy_proact.cli.views.runs import Ending
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.evaluation import Rejudging
    from dspy_proact.evaluation.execution import Execution
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.evaluation.variants import Wording
    from dspy_proact.models import Gate
    from dspy_proact.runs import CaseSet, Manifest, Scope

_TESTED = model_options("--model", "Model under test, a litellm name; repeatable. Default: embedded.")


@verb(
    "eval",
    BENCHMARK,
    _TESTED,
    APPS,
    WORDINGS,
    ROLES,
    ANSWERS,
    model_options(
        "--judge",
        "Judge, likewise; several are a jury. Default: the benchmark's; embedded for an embedded model.",
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
    RUN_GATE,
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
    first="--model --app --system-prompt --answers --judge --benchmark --corpus --limit --max-usd "
    "--out --dry-run --json",
    example="dspy-proact eval --model openai/gpt-4o --limit 50 --dry-run",
    brief="Score a model on a benchmark.",
)
def evaluate(
    chosen: BenchmarkChoice,
    model: NamedModel,
    apps: NamedApps,
    wordings: "Sequence[Wording]",
    roles: NamedRoles,
    answers: NamedAnswers,
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
    --model, an embedded stand-in runs the bundled sample. Several --model, --system-prompt or --program make a run of
    each combination. --answers grades answers that you have.
    """
    from dspy_proact.cli.views.runs import run_all, run_path, say_of_corpus
    from dspy_proact.evaluation.checks import checked
    from dspy_proact.evaluation.evaluation import Evaluation
    from dspy_proact.evaluation.variants import variants_of

    answers.require_alone(flags_of(_TESTED, APPS, WORDINGS, ROLES))
    apps.require_alone(flags_of(_TESTED, WORDINGS))
    answers = answers.beside(corpus)
    of_run = [answers.file] if answers.file and answers.kind(chosen.columns) == "run" else []
    declared = chosen.declared(*of_run)
    settings = chosen.settings(declared, answers=answers.file is None)
    if show_prompt and not output.dry_run:
        raise UsageError("--show-prompt: has no effect without --dry-run")
    if min_kappa is not None:
        _require_kappa(judge_program, min_kappa)
    if fail_under is not None:
        _require_score(declared, fail_under)
    variants = (
        [] if answers.file else variants_of(apps.opened(gate.limits, answers.model) or model.specs(EMBEDDED), wordings)
    )
    names = {variant.model.name for variant in variants} or {answers.model or ""}
    embedded = names == {EMBEDDED}

    def cases() -> "CaseSet":
        named = corpus_of(declared, corpus, embedded)
        published = named == declared.corpus.name
        revision = _recorded_revision(declared.name, named, names, output.out, scope.reuse) if published else None
        read = checked(declared, "read", declared.read(named, settings, revision))
        say_of_corpus(named, read.corpus)
        return read

    executions: Sequence[Execution]
    judging: Any = {"judge_prompt": judge_prompt, "judge_program": judge_program, "gate": gate}
    judging |= {"benchmark": declared, "keep_inputs": keep_inputs}
    if answers.file:
        existing = answers.read(declared, settings, corpus, cases, chosen.columns)
        scope = scope if "--epochs" in typed() else scope.model_copy(update={"epochs": None})
        executions = _gradings(existing, declared, chosen, judge, judging)
    else:
        judges, corpus_cases = judges_of(declared, judge, embedded), cases()
        executions = [
            Evaluation(
                corpus_cases,
                variant.model,
                judges,
                settings=settings,
                program=variant.wording.program,
                system_prompt=variant.wording.system_prompt,
                variant=variant.wording.label,
                roles=roles.specs(declared, variant.model.name == EMBEDDED),
                **judging,
            )
            for variant in variants
        ]
    alone = len(executions) == 1
    runs = [(execution, run_path(execution, output.out, scope, alone)) for execution in executions]
    if show_prompt:
        from dspy_proact.cli.views.transcript import print_prompts

        print_prompts([prompt for execution in executions for prompt in execution.prompts(scope)], output.as_json)
        return 0
    ending = run_all(runs, scope, output)
    return 0 if ending is None else _report(ending, declared, fail_under, output.as_json, alone)


def _gradings(
    existing: "Sequence[Responses]",
    declared: "Benchmark[Any, Any]",
    chosen: BenchmarkChoice,
    judge: NamedModel,
    judging: Mapping[str, Any],
) -> "list[Rejudging]":
    """Of answers that exist; a run and a results file have their own settings, of which some may be set anew."""
    from dspy_proact.evaluation.evaluation import Rejudging

    return [
        Rejudging(
            responses,
            judges_of(declared, judge, responses.embedded),
            settings=None if responses.file else chosen.settings_of_grading(declared, responses.settings),
            **judging,
        )
        for responses in existing
    ]


def _report(
    ending: "Ending", declared: "Benchmark[Any, Any]", fail_under: float | None, as_json: bool, alone: bool
) -> int:
    """Print the scores of the runs, and say where they are; the exit status."""
    from dspy_proact.cli.views.runs import print_summaries
    from dspy_proact.report.least_score import is_under

    summaries = [summary_of(path) for path in ending.begun]
    print_summaries(summaries, as_json, alone)
    scores = {summary.path: summary.leading.strict_weighted.value or 0.0 for summary in summaries}
    under = {path: score for path, score in scores.items() if is_under(score, fail_under or 0.0)}
    status = ending.close(declared, under=bool(under))
    for path, score in under.items():
        complain(f"{path}: the strict score {100 * score:.1f} is under --fail-under {fail_under:g}")
    return status


def _require_score(declared: "Benchmark[Any, Any]", least: float) -> None:
    from dspy_proact.evaluation.people import is_nominal
    from dspy_proact.report.least_score import require_points

    require_points("fail_under", least)
    if is_nominal(declared):
        raise UsageError("--fail-under: labels without an order have no score; leave it out")


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
                f"{program}: --min-kappa {least:g} is not met in {row.title}: kappa out of fold, against "
                f"the shares of people's grades in {card.provenance.data.name!r}, is {promised} at 95 %"
            )


def _recorded_revision(
    benchmark: str, corpus: str, models: Iterable[str], out: Path | None, reuse: Path | None
) -> str | None:
    """The revision that a run of these models has recorded of its corpus: resuming does not move on to a newer one.

    Where a run is reused, it is that one's.
    """
    from dspy_proact.evaluation.participant import run_name
    from dspy_proact.runs import RunFolder

    paths = [out] if out else []
    for model in sorted(models):
        paths += sorted((out or Path("runs")).glob(f"{run_name(benchmark, model, ())}-*"))
    recorded: list[Manifest] = []
    for folder in map(RunFolder, [reuse] if reuse else paths):
        with suppress(RunError):  # what cannot be read is no run to go on with; if it is asked for, it is refused later
            recorded += [manifest] if (manifest := folder.manifest()).corpus.name == corpus else []
    return max(recorded, key=lambda manifest: manifest.created).corpus.revision if recorded else None
