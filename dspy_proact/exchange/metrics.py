"""The scores and measures of a run by name, as other tools list them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dspy_proact.report.measured import bounds_of
from dspy_proact.report.summary import Scores, Summary
from dspy_proact.runs import Outcome
from dspy_proact.stats import Estimate


@dataclass(frozen=True)
class Metric:
    """A number of a run."""

    name: str
    about: str
    """What it is of, a sentence without its stop."""
    estimate: Estimate
    scored: int
    """Cases and epochs that it is over."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """All of them, by grade and state."""
    least: float = 0.0
    most: float = 1.0
    higher_is_better: bool = True
    of_grades: bool = False
    """Whether it is a mean of scores that grades stand for."""


_KINDS = {
    "score": ("weighted", "mean score over what was graded"),
    "pass_rate": ("pass_rate", "share of full passes over what was graded"),
    "strict_score": ("strict_weighted", "mean score over all that were tried, where one without a grade counts 0"),
    "strict_pass_rate": ("strict_pass_rate", "share of full passes over all that were tried"),
}


def metrics_of(summary: Summary) -> Iterator[Metric]:
    """The leading scores first, then both means, then each stratum, then the measures that the benchmark declares."""
    every = summary.outcomes
    yield from _of_scores(summary, summary.leading, "", f"{_MEANS[summary.leading_mean]}", every)
    for mean, scores in (("micro", summary.micro), ("macro", summary.macro)):
        yield from _of_scores(summary, scores, f"{mean}_", _MEANS[mean], every)
    for stratum in summary.strata:
        outcomes = summary.of_stratum(stratum)
        yield from _of_scores(summary, summary.scores(stratum), f"{stratum}_", f"of {stratum}", outcomes)
    estimates = summary.measured(every)
    for measure in summary.measures:
        least, most = bounds_of(measure, every) if measure.statistic == "mean" else measure.span
        yield Metric(
            measure.name,
            measure.title,
            estimates[measure.name],
            len(summary.scored),
            least=least,
            most=most,
            higher_is_better=measure.higher_is_better,
        )


_MEANS = {"micro": "every case weighted equally", "macro": "every stratum weighted equally"}


def _of_scores(
    summary: Summary, scores: Scores, prefix: str, of: str, outcomes: tuple[Outcome, ...] | list[Outcome]
) -> Iterator[Metric]:
    counts = {label: sum(outcome.label == label for outcome in outcomes) for label in summary.labels}
    counts |= {state: sum(outcome.state == state for outcome in outcomes) for state in ("unscored", "pending")}
    scored = sum(outcome.state == "scored" for outcome in outcomes)
    for name, (field_name, about) in _KINDS.items():
        tried = scored + (counts["unscored"] if name.startswith("strict") else 0)
        yield Metric(
            f"{prefix}{name}", f"{about}, {of}", getattr(scores, field_name), tried, counts, of_grades="score" in name
        )
