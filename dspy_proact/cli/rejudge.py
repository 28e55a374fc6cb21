"""`dspy-proact rejudge`: responses that exist, graded by other judges."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import ANSWERED_CORPUS, RUN_BENCHMARK, BenchmarkChoice, judges_of
from dspy_proact.cli.options.models import JUDGING, RUN_GATE, NamedModel, model_options
from dspy_proact.cli.options.paths import summary_of
from dspy_proact.cli.options.scope import GRADING_SCOPE
from dspy_proact.cli.options.verb import Heading, verb
from dspy_proact.cli.views.message import console, print_json, say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate
    from dspy_proact.report import Summary
    from dspy_proact.runs import Scope

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
    RUN_GATE,
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
    """Have other judges grade the responses of RUN: the folder of a run, a results file or your own table.

    No model answers again: the responses are copied into a new run, and the two gradings are compared. A results file
    holds no conversations: name the --corpus that it answers.
    """
    from dspy_proact.cli.views.runs import print_summaries, run_all, run_path
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
    ending = run_all(
        [(rejudging, run_path(rejudging, output.out, scope, alone)) for rejudging in rejudgings], scope, output
    )
    if ending is None:
        return 0
    for done in (done for done in ending.finished if done.pending):
        responses = "response is" if done.pending == 1 else "responses are"
        say(f"{done.pending:,} {responses} not in {run} yet: go on with that run, and then repeat this command.")
    if not alone:
        print_summaries([summary_of(path) for path in ending.begun], output.as_json, alone)
        return ending.close(declared)
    compared = [_print_regraded(chosen.summary(run), path, output.as_json) for path in ending.begun]
    return ending.close(declared, beside=run if any(compared) else None)


def _print_regraded(parent: "Summary", path: Path, as_json: bool) -> bool:
    """Print the new gradings, and how they agree with those of the parent; whether they can be compared."""
    from dspy_proact.cli.views.runs import print_summaries
    from dspy_proact.report import compare, summary_document
    from dspy_proact.report.agreement import agreement_lines
    from dspy_proact.report.numbers import document
    from dspy_proact.report.terminal import cell

    child = summary_of(path)
    try:
        agreement = compare(parent, child).agreement
    except UsageError:  # no response was graded in both
        agreement = None
    if as_json:
        judges = {"judges": document(agreement, child.nouns)} if agreement else {"judges": None, "reason": _UNJUDGED}
        print_json(summary_document(child) | judges)
        return agreement is not None
    print_summaries([child], as_json=False)
    for line in agreement_lines(agreement) if agreement else [_UNJUDGED]:
        console().print(cell(line))
    return agreement is not None and agreement.responses > 0
