"""Under which conditions a run stands among the published models: those under which they were measured."""

from dspy_proact.benchmarks.proactbench.corpus.published import TRIGGERS_PER_PHASE
from dspy_proact.report.leaderboard import own_name
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Manifest

JUDGE = "gpt-5.4"
"""The published judge, by its own name, without a router's prefix."""
CORPUS = "proactbench"
"""Name of the full corpus."""


def differences(run: Summary) -> tuple[str, ...]:
    """What was done otherwise than for the published models; only the model under test may differ."""
    assert run.manifest is not None, "asked of runs only"
    return (*_of_roles(run.manifest), *_of_extent(run, run.manifest))


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
    if manifest.corpus.name != CORPUS:
        differences.append(f"the corpus is {manifest.corpus.name!r}, not {CORPUS}")
    elif asked != TRIGGERS_PER_PHASE:
        by_phase = ", ".join(f"{phase} {asked[phase]} of {most}" for phase, most in TRIGGERS_PER_PHASE.items())
        differences.append(f"{sum(asked.values())} of {sum(TRIGGERS_PER_PHASE.values())} triggers ({by_phase})")
    if manifest.epochs != 1:
        differences.append(f"{manifest.epochs} responses to each trigger (--epochs), not 1")
    if manifest.judge_epochs != 1:
        differences.append(f"{manifest.judge_epochs} verdicts on each response (--votes), not 1")
    return differences
