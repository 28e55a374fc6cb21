"""The published rows, and runs of one's own beside them: never among them, for the paper names no judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dspy_proact.benchmarks.probe.corpus.grade import STAGE_WEIGHTS
from dspy_proact.benchmarks.probe.corpus.published import PublishedScores, published_scores
from dspy_proact.benchmarks.probe.report.failures import Failures, failures
from dspy_proact.errors import UsageError
from dspy_proact.report.numbers import STAND_IN, counted
from dspy_proact.report.ranking import require_each_once
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Manifest
from dspy_proact.stats import Estimate

PROBE = "probe"
"""Name of the benchmark and of its full corpus."""
COLUMNS = ("precision", "recall", "f1", "identification", "task", "overall", "end_to_end")
"""Measures of a run, in the order of the table."""


@dataclass(frozen=True)
class OwnEntry:
    """A run."""

    name: str
    """The model with its program, for people."""
    path: str
    tasks: int
    """That were asked for."""
    people: int
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    scores: Mapping[str, Estimate] = field(hash=False)
    """By measure, with intervals clustered by person."""
    failures: Failures
    differences: tuple[str, ...]
    """What was done otherwise than for the published rows, or is not known of them."""


@dataclass(frozen=True)
class Leaderboard:
    """Published rows in order, and runs as they were given."""

    published: tuple[PublishedScores, ...]
    runs: tuple[OwnEntry, ...]


def overall_of(row: PublishedScores) -> float:
    """The paper's weighted overall of a row, which it does not print; of means it is the mean."""
    return sum(weight * getattr(row, name) for name, weight in STAGE_WEIGHTS.items())


def leaderboard(runs: Sequence[Summary] = ()) -> Leaderboard:
    """Put runs beside the published rows.

    Raises:
        UsageError: One path is given twice, or what is there is not of PROBE.
    """
    require_each_once(run.path for run in runs)
    return Leaderboard(published_scores(), tuple(map(_run, runs)))


def _run(summary: Summary) -> OwnEntry:
    manifest = summary.manifest
    if summary.benchmark != PROBE or manifest is None:
        raise UsageError(f"{summary.path}: of {summary.benchmark!r}; this leaderboard is of PROBE")
    measured = summary.measured(summary.outcomes)
    return OwnEntry(
        name=summary.model_name,
        path=summary.path,
        tasks=summary.case_count,
        people=summary.group_count,
        embedded=summary.embedded,
        scores={name: measured[name] for name in COLUMNS},
        failures=failures(summary),
        differences=tuple(_differences(summary, manifest)),
    )


def _differences(summary: Summary, manifest: Manifest) -> list[str]:
    settings, differences = manifest.identity.settings, [STAND_IN] if summary.embedded else []
    if settings["baseline"] != "none":
        differences.append("a blind baseline, which only searches")
    elif settings["agent"] != "single":
        differences.append(f"the agent is {settings['agent']!r} of ours; published models answer in one call")
    if settings["oracle"] != "none":
        differences.append(f"an oracle gives away: {settings['oracle']}")
    if settings["sanitize"]:
        differences.append("ids, order and stamps are sanitized; published models saw them as they are")
    if not settings["upstream_rule"]:
        differences.append("graded by our rule, which knows facets that do not apply")
    if manifest.corpus.name != PROBE:
        differences.append(f"the corpus is {manifest.corpus.name!r}, not the published one")
    if summary.judges:
        differences.append(f"the paper names no judge; here {summary.judge_name}, in our words")
    differences += summary.left_out
    differences += [f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state))]
    if manifest.epochs != 1:
        differences.append(f"{counted(manifest.epochs, 'answer')} to each task")
    return differences
