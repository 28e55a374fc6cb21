"""The published models in their order, and runs of one's own: among them where they were made alike, else below.

A published model is known by its counts alone, without triggers or scenarios, so that its scores have no interval.
It has a range of ranks instead, from tests on counts that assume how alike the triggers of a scenario are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from dspy_proact.benchmarks.proactbench.corpus.published import (
    TRIGGERS_PER_PHASE,
    Counts,
    PublishedModel,
    pooled,
    published_models,
)
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.errors import UsageError
from dspy_proact.report.numbers import STAND_IN
from dspy_proact.report.ranking import require_each_once
from dspy_proact.report.summary import Scores, Summary
from dspy_proact.runs import Manifest
from dspy_proact.stats import Counted, Estimate, competition_ranks, rank_ranges

JUDGE = "gpt-5.4"
"""The published judge, by its own name, without a router's prefix."""
PROACTBENCH = "proactbench"
"""Name of the benchmark and of its full corpus."""
DESIGN_EFFECT = 2.0
"""By how much the likeness of a scenario's triggers widens a variance: an assumption, for counts do not tell."""
COUNTS_ONLY = "counts alone, without scenarios, give no interval; see the rank range"
UNKNOWN_ORIGIN = "a results file does not say which judge, prompt and decoding made it"


@dataclass(frozen=True)
class PhaseFigures:
    """One phase of an entry."""

    tried: Counts
    """Of grades; where there are several verdicts on a response, of their majority."""
    pending: int
    """Not yet tried; 0 for a published model."""
    weighted: float | None
    """Lenient mean score in [0, 1], higher is better; None when nothing was scored."""


@dataclass(frozen=True)
class Entry:
    """A line of the leaderboard."""

    model: str
    published: bool
    phases: Mapping[str, PhaseFigures] = field(hash=False)
    """EMERGENT, CRITICAL and RECOVERY, in this order."""
    scores: Scores
    """Over all phases, each trigger weighted equally; without bounds for a published model."""
    name: str = ""
    """The model with its program, for people; empty for a published model."""
    path: str | None = None
    """Of a run or results file; None for a published model."""
    embedded: bool = False
    """Whether a stand-in that measures nothing took part."""
    differences: tuple[str, ...] = ()
    """What was done otherwise than for the published models; empty for these and for what is ranked with them."""
    rank_lenient: int | None = None
    """1 is the best, ties share the better rank; None where anything was done otherwise."""
    rank_strict: int | None = None
    """Likewise, by the strict weighted score."""
    rank_range: tuple[int, int] | None = None
    """Best and worst lenient rank that the tests leave open; None where there is no rank."""

    @property
    def tried(self) -> Counts:
        """Counts of all phases together."""
        return pooled(phase.tried for phase in self.phases.values())

    @property
    def pending(self) -> int:
        """Triggers not yet tried, of all phases together."""
        return sum(phase.pending for phase in self.phases.values())


@dataclass(frozen=True)
class Leaderboard:
    """Entries in order: the ranked by their lenient weighted score, then the unranked as they were given."""

    entries: tuple[Entry, ...]

    @property
    def ranked(self) -> tuple[Entry, ...]:
        """Those in the order, the published models among them."""
        return tuple(entry for entry in self.entries if not entry.differences)

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Those that are not published."""
        return tuple(entry for entry in self.entries if not entry.published)


def leaderboard(runs: Sequence[Summary] = ()) -> Leaderboard:
    """Put the published models in order, and runs or results files with them.

    Raises:
        UsageError: One path is given twice, or what is there is not of ProactBench.
    """
    require_each_once(run.path for run in runs)
    entries = [*map(_published, published_models()), *map(_run, runs)]
    ranked = _with_ranks([entry for entry in entries if not entry.differences])
    return Leaderboard((*ranked, *(entry for entry in entries if entry.differences)))


def _with_ranks(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with their ranks, best first."""
    overall = [entry.tried for entry in entries]
    # Counts order all alike: means that were summed otherwise may differ in the last digit and part a tie.
    lenient = competition_ranks([counts.weighted or 0.0 for counts in overall])
    strict = competition_ranks([counts.strict_weighted or 0.0 for counts in overall])
    graded = [Counted.of_scores(counts.full, counts.partial, counts.fail) for counts in overall]
    ranges = rank_ranges(graded, DESIGN_EFFECT)
    rows = zip(entries, lenient, strict, ranges, strict=True)
    placed = [replace(entry, rank_lenient=one, rank_strict=two, rank_range=span) for entry, one, two, span in rows]
    return sorted(placed, key=lambda entry: entry.rank_lenient or 0)


def _published(model: PublishedModel) -> Entry:
    return Entry(
        model.model,
        published=True,
        phases={phase: PhaseFigures(counts, 0, counts.weighted) for phase, counts in model.phases.items()},
        scores=Scores(
            *(Estimate(getattr(model.overall, each.name), reason=COUNTS_ONLY) for each in fields(Scores)),
        ),
    )


def _run(summary: Summary) -> Entry:
    if (summary.benchmark, summary.labels) != (PROACTBENCH, tuple(Grade)):
        raise UsageError(f"{summary.path}: of {summary.benchmark!r}; the leaderboard is of ProactBench")
    return Entry(
        summary.model,
        published=False,
        phases={phase: _phase(summary, phase) for phase in TRIGGERS_PER_PHASE},
        scores=summary.micro,
        name=summary.model_name,
        path=summary.path,
        embedded=summary.embedded,
        differences=_differences(summary),
    )


def _phase(summary: Summary, phase: str) -> PhaseFigures:
    outcomes = summary.of_stratum(phase)
    pending = sum(outcome.state == "pending" for outcome in outcomes)
    grades = [sum(outcome.label == grade for outcome in outcomes) for grade in Grade]
    return PhaseFigures(Counts(len(outcomes) - pending, *grades), pending, summary.scores(phase).weighted.value)


def _differences(summary: Summary) -> tuple[str, ...]:
    """What was done otherwise than for the published models; only the model under test may differ."""
    stand_in, manifest = [STAND_IN] if summary.embedded else [], summary.manifest
    if manifest is None:
        return (*stand_in, UNKNOWN_ORIGIN)
    return (*stand_in, *_of_roles(manifest), *_of_extent(summary, manifest))


def _of_roles(manifest: Manifest) -> list[str]:
    """Differences in who answered and graded, and how."""
    assistant, judges = manifest.identity.assistant, manifest.identity.judges
    differences: list[str] = []
    if len(judges) != 1:
        differences.append(f"graded by a jury ({manifest.identity.judge_name}), not by {JUDGE} alone")
    elif own_name(judges[0].model) != JUDGE:
        differences.append(f"graded by {judges[0].model}, not by {JUDGE}")
    elsewhere = sorted({judge.endpoint for judge in judges if judge.endpoint})
    prompts = sorted({judge.program for judge in judges} - {"official"})
    by_hand = [f"{role}'s {name}" for role, names in manifest.overrides.items() for name in names]
    differences += [f"the judge was called at {endpoint}, not at its provider's own" for endpoint in elsewhere]
    differences += [f"the judge's prompt is {prompt!r}, not the official one" for prompt in prompts]
    if assistant.program != "bare":
        differences.append(f"the responses are of the program {assistant.program!r}, not of the bare model")
    return differences + [f"the {parameter} was set by hand, not by the preset" for parameter in by_hand]


def _of_extent(summary: Summary, manifest: Manifest) -> list[str]:
    """Differences in what was asked, and how often."""
    asked = {phase: len({o.key for o in summary.of_stratum(phase)}) for phase in TRIGGERS_PER_PHASE}
    differences: list[str] = []
    if manifest.corpus.name != PROACTBENCH:
        differences.append(f"the corpus is {manifest.corpus.name!r}, not {PROACTBENCH}")
    elif asked != TRIGGERS_PER_PHASE:
        by_phase = ", ".join(f"{phase} {asked[phase]} of {most}" for phase, most in TRIGGERS_PER_PHASE.items())
        differences.append(f"{sum(asked.values())} of {sum(TRIGGERS_PER_PHASE.values())} triggers ({by_phase})")
    if summary.count("pending"):
        differences.append(f"not complete: {summary.count('pending')} pending")
    elif not summary.count("scored"):
        differences.append("nothing was scored")
    if manifest.epochs != 1:
        differences.append(f"{manifest.epochs} responses to each trigger (--epochs), not 1")
    if manifest.judge_epochs != 1:
        differences.append(f"{manifest.judge_epochs} verdicts on each response (--judge-epochs), not 1")
    return differences


def own_name(model: str) -> str:
    """A model's name after any vendor or router."""
    return model.rsplit("/", 1)[-1] or model
