"""Responses that exist, graded by the judges of a command: what `rejudge` and `agree --judge` do alike."""

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.cli.options.output import Output
from dspy_proact.cli.views.run_forecast import print_forecasts
from dspy_proact.cli.views.runs import Ending, run_all
from dspy_proact.runs import Scope


def rejudged(rejudging: Execution, scope: Scope, output: Output) -> Ending | None:
    """How the run ended; None where only its forecast was asked for, which is printed.

    Raises:
        UsageError: It cannot be done as asked.
    """
    runs = [(rejudging, output.out or rejudging.default_folder)]
    if output.dry_run:
        print_forecasts(runs, scope, output.as_json)
        return None
    return run_all(runs, scope)
