"""`dspy-proact rejudge`: another judge on responses that exist."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dspy_proact.cli.options.benchmark import RUN_BENCHMARK, Chosen, judges_of
from dspy_proact.cli.options.cases import ANSWERED_CORPUS, GRADING_SCOPE
from dspy_proact.cli.options.kinds import Output, output_options
from dspy_proact.cli.options.models import GATE, JUDGING, NamedModel, model_options
from dspy_proact.cli.options.verb import Heading, verb
from dspy_proact.cli.views.message import print_json
from dspy_proact.cli.views.summary import print_summaries, summary_of
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
    GATE,
    output_options("the run. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the report"),
    first="--judge --judge-program --corpus --limit --stratum --votes --max-usd --out --dry-run --json",
    example="dspy-proact rejudge runs/mine --judge anthropic/claude-opus-4-7",
    brief="Have other judges grade the responses of a run.",
)
@click.argument("run", type=click.Path(path_type=Path))
def rejudge(
    run: Path,
    chosen: Chosen,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    corpus: str | None,
    scope: "Scope",
    gate: "Gate",
    output: Output,
) -> int:
    """Have other judges grade the responses of RUN, the folder of a run or a results file; no model answers again.

    The responses are copied into a new run, and the two gradings are compared. A results file holds no conversations:
    name the --corpus that it answers.
    """
    from dspy_proact.benchmarks.evaluation import Rejudging
    from dspy_proact.cli.views.runs import rejudged, say_of_programs

    declared = chosen.declared(run)
    responses = declared.responses(run, corpus)
    settings = chosen.settings_of_grading(declared, responses.settings)
    rejudging = Rejudging(
        responses,
        judges_of(declared, judge, responses.embedded),
        benchmark=declared,
        settings=settings,
        judge_prompt=judge_prompt,
        judge_program=judge_program,
        gate=gate,
    )
    say_of_programs(rejudging)
    ending = rejudged(rejudging, scope, output)
    if ending is None:
        return 0
    compared = [_show(run, summary_of(path), output.as_json) for path in ending.begun]
    return ending.close(declared, beside=run if any(compared) else None)


def _show(run: Path, child: "Summary", as_json: bool) -> bool:
    """Print the new gradings, and how they agree with those of the run; whether they can be compared."""
    from rich.console import Console

    from dspy_proact.report import agreement_document, agreement_lines, cell, compare, summary_document

    try:
        agreement = compare(summary_of(run), child).agreement
    except UsageError:  # no response was graded in both
        agreement = None
    if as_json:
        judges = {"judges": agreement_document(agreement)} if agreement else {"judges": None, "reason": _UNJUDGED}
        print_json(summary_document(child) | judges)
        return agreement is not None
    print_summaries([child], as_json=False)
    console = Console(soft_wrap=False)
    for line in agreement_lines(agreement) if agreement else [_UNJUDGED]:
        console.print(cell(line))
    return agreement is not None
