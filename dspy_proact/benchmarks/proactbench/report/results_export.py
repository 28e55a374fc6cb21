"""A run as a results file in the official format, with a list of what that cannot hold."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus import ResultTrigger, TokenUsage, write_results
from dspy_proact.benchmarks.proactbench.types import Grade, Origin, Verdict
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Outcome, RunFolder

_NEVER = "judge, prompts, decoding, endpoints, versions, prices, latencies, which calls failed, and where quotes stand"
"""What the official format holds of no run."""


def export_results(folder: RunFolder, summary: Summary, path: Path) -> list[str]:
    """Write the first epoch of a run as a results file.

    Returns:
        What the format cannot hold, a line each.

    Raises:
        UsageError: It is no run of ProactBench, nothing in it was tried, or the file cannot be written.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: a run of {summary.benchmark!r}; the official format holds proactbench only")
    tried = [outcome for outcome in summary.outcomes if outcome.epoch == 1 and outcome.state != "pending"]
    if not tried:
        raise RunError(f"{summary.path}: nothing in it was tried yet; the command that began it goes on")
    if any("dialogue" not in outcome.meta for outcome in tried):
        raise UsageError(f"{summary.path}: holds items of raters, which are no dialogues; --format csv has them")
    replaced = write_results(path, summary.model, [_trigger(outcome) for outcome in tried], _usage(folder, tried))
    return losses(summary, tried, replaced)


def losses(summary: Summary, tried: Sequence[Outcome], replaced: int = 0) -> list[str]:
    """What the official format cannot hold of a run, a line each."""
    reasons = Counter(outcome.reason for outcome in tried if outcome.reason)
    others = sum(len(outcome.verdicts) - 1 for outcome in tried if outcome.verdicts)
    counted = (
        (sum(reasons.values()), "reasons of unscored triggers: " + ", ".join(f"{r} {n}" for r, n in reasons.items())),
        (summary.count("pending"), "pending triggers, which are left out"),
        (sum(outcome.epoch > 1 for outcome in summary.outcomes), "outcomes of later epochs"),
        (others, "further verdicts on one response; the first with the common grade is kept"),
        (sum(outcome.truncated for outcome in tried), "marks of a response cut at the token limit"),
        (replaced, "characters that no file holds safely, replaced by U+FFFD"),
    )
    return [*(f"{count} {what}" for count, what in counted if count), _NEVER]


def _trigger(outcome: Outcome) -> ResultTrigger:
    """A trigger of the official format; of several verdicts the first that is nearest to the grade that they make."""
    view, meta = JudgeView.model_validate(outcome.view), dict(outcome.meta)
    turn, curated = int(meta.pop("turn")), str(meta.pop("curated_response"))
    graded = Grade(outcome.label) if outcome.label else None
    score = graded.score if graded else 0.0
    given = min(outcome.verdicts, key=lambda verdict: abs(verdict.score - score), default=None) if graded else None
    verdict = Verdict.model_validate(given.detail) if given else None
    return ResultTrigger(
        key=outcome.key,
        origin=Origin.model_validate(meta),
        turn=turn,
        rubric=view.rubric,
        user_message=view.conversation[-1].user,
        response=outcome.response,
        curated_response=curated,
        status="EVALUATED" if verdict else None,
        label=graded if verdict else None,
        reasoning=verdict.reasoning if verdict else "",
        evidence=tuple(quote.text for quote in verdict.evidence) if verdict else (),
    )


def _usage(folder: RunFolder, tried: Sequence[Outcome]) -> dict[str, dict[str, TokenUsage]]:
    """What each role used for each dialogue, in the first epoch."""
    dialogues = {outcome.key: str(outcome.meta["dialogue"]) for outcome in tried}
    used: defaultdict[str, defaultdict[str, TokenUsage]] = defaultdict(lambda: defaultdict(TokenUsage))
    for event in folder.events():
        if event.key.epoch == 1 and event.key.case in dialogues:
            for call in event.calls:
                prompt, completion = call.prompt_tokens or 0, call.completion_tokens or 0
                tokens = TokenUsage(prompt_tokens=prompt, completion_tokens=completion, calls=1)
                used[dialogues[event.key.case]][call.role] += tokens
    return {dialogue: dict(roles) for dialogue, roles in used.items()}
