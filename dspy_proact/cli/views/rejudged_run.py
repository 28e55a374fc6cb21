"""Responses that exist, graded by the judges of a command: what `rejudge` and `agree --judge` do alike."""

from collections.abc import Sequence

from dspy_proact.benchmarks import Responses
from dspy_proact.benchmarks.proactbench import Rejudging
from dspy_proact.cli.options.judging import Judging
from dspy_proact.cli.options.output import Output
from dspy_proact.cli.views.program_notes import say_of_judge
from dspy_proact.cli.views.run_forecast import print_forecasts
from dspy_proact.cli.views.runs import Ending, run_all
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.runs import Scope


def rejudged(
    responses: Responses, judges: Sequence[ModelSpec], judging: Judging, scope: Scope, gate: Gate, output: Output
) -> Ending | None:
    """How the run ended; None where only its forecast was asked for, which is printed.

    Raises:
        UsageError: It cannot be done as asked.
    """
    say_of_judge(judging.program, judges)
    rejudging = Rejudging(responses, judges, judge_prompt=judging.prompt, judge_program=judging.program, gate=gate)
    runs = [(rejudging, output.out or rejudging.default_folder)]
    if output.dry_run:
        print_forecasts(runs, scope, output.as_json)
        return None
    return run_all(runs, scope)
