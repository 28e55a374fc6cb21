"""A score that a run must reach, as a test asserts it and `eval --fail-under` decides it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import bounds, counted, share
from dspy_proact.report.summary import Summary, summarize
from dspy_proact.runs import RunFolder
from dspy_proact.runs.outcome import State

if TYPE_CHECKING:
    from dspy_proact.evaluation.mends import Completed

_ROUNDING = 1e-9


def is_under(score: float | None, least: float) -> bool:
    """Whether a score in [0, 1] is under so many points of 100; one that is not known is."""
    return score is None or 100 * score < least - _ROUNDING


def require_points(name: str, least: float) -> None:
    """Raise a `UsageError` for a least score that is no points of 100; 0.9 is a share, which any score would reach."""
    if not 0 <= least <= 100 or 0 < least < 1:
        raise UsageError(f"`{name}={least:g}`: is in points of 100, from 1 to 100, or 0")


def assert_score(
    run: "Summary | Completed | RunFolder | str | Path",
    at_least: float,
    on: str | None = None,
    *,
    lower: bool = False,
    most_unscored: int = 0,
) -> None:
    """Assert that a run scored so many points of 100, in a test; no model is called.

    The score is the strict mean, in which unscored cases count 0: of all strata by the mean that ranks, or of one.

    Args:
        run: The folder of a run, or what `Execution.run` or `summarize` gave.
        at_least: From 0 to 100.
        on: A stratum, in any case of letters; all of them where None.
        lower: Whether the lower end of the 95 % interval must reach it, and not the score itself.
        most_unscored: How many of these cases may be without a grade.

    Raises:
        AssertionError: The score is lower, or not known; or the run is not complete, or has more unscored cases.
        UsageError: There is no such stratum, no such number of points, or no score, as labels have no order.
        RunError: There is no run, or it is damaged.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    require_points("at_least", at_least)
    path: str | Path = run if isinstance(run, str | Path) else run.path
    summary = run if isinstance(run, Summary) else summarize(path)
    if not summary.ordered:
        raise UsageError(f"{summary.path}: its labels have no order, and so no score")
    nouns, outcomes, scores, where = summary.nouns, summary.outcomes, summary.leading, ""
    if on is not None:
        known = {stratum.casefold(): stratum for stratum in summary.strata}
        if on.casefold() not in known:
            raise UsageError(f"`on={on}`: is none of the {nouns.strata} {', '.join(summary.strata)}")
        stratum = known[on.casefold()]
        outcomes, scores, where = summary.of_stratum(stratum), summary.scores(stratum), f" on {stratum}"
    estimate = scores.strict_weighted
    counts = Counter(outcome.state for outcome in outcomes)
    if counts["pending"] or any(outcome.awaited for outcome in outcomes):
        why = "but the run is not complete: repeat the command that began it"
    elif counts["unscored"] > most_unscored:
        reasons = Counter(outcome.reason for outcome in outcomes if outcome.state == "unscored").most_common()
        shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons)
        unscored = counted(counts["unscored"], nouns.case, nouns.cases)
        why = f"but {unscored} without a grade ({shown}), where at most {most_unscored} may be"
    elif lower and is_under(estimate.low, at_least):
        tested = f"and its lower end, {share(estimate.low)}, is under {at_least:g}"
        why = tested if estimate.low is not None else f"and so no lower end that could reach {at_least:g}"
    elif is_under(estimate.value, at_least):
        why = f"under {at_least:g}"
    else:
        return
    score = "not known" if estimate.value is None else f"{share(estimate.value)} of 100 ({bounds(estimate)})"
    numbers = ", ".join(f"{counts[state]:,} {state}" for state in get_args(State))
    who = f"{summary.model_name}{summary.graded_by}"
    of = f"of {counted(len(outcomes), nouns.case, nouns.cases)} {numbers} ({summary.path})"
    raise AssertionError(printable(f"{who}: the strict score{where} is {score}, {why}; {of}"))
