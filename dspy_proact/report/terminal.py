"""A summary as a person reads it on a terminal."""

from collections import defaultdict
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dspy_proact.corpus.published import HUMAN_ALPHA
from dspy_proact.plain_text import printable
from dspy_proact.report.summary import Outcome, Scores, Summary, Usage
from dspy_proact.stats import Estimate

STAND_IN = "embedded stand-in: shows how this works, measures no real model"


def print_summary(summary: Summary, console: Console) -> None:
    """Print scores with denominators and intervals, then what is unscored, verified and used."""
    for line in _heading(summary):
        console.print(_cell(line))
    console.print(_table(summary))
    for line in _notes(summary):
        console.print(_cell(line))


def _heading(summary: Summary) -> list[str]:
    identity = summary.manifest.identity
    heading = f"{identity.benchmark}: {identity.assistant.model} judged by {identity.judge.model}"
    return [heading, *([STAND_IN] if summary.manifest.embedded else [])]


def _table(summary: Summary) -> Table:
    manifest = summary.manifest
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("phase", no_wrap=True)
    for heading in ("scored", *(label.lower() for label in manifest.labels), "pass rate", "weighted", "strict"):
        table.add_column(_cell(heading), justify="right", no_wrap=True)
    for stratum in manifest.strata:
        table.add_row(*map(_cell, _row(stratum, summary.of_stratum(stratum), summary.scores(stratum), manifest.labels)))
    table.add_section()
    table.add_row(*map(_cell, _row("micro", summary.outcomes, summary.micro, manifest.labels)))
    table.add_row("macro", *[""] * (1 + len(manifest.labels)), *map(_cell, _numbers(summary.macro)))
    return table


def _row(name: str, outcomes: Sequence[Outcome], scores: Scores, labels: Sequence[str]) -> list[str]:
    scored = sum(outcome.state == "scored" for outcome in outcomes)
    counts = [str(sum(outcome.label == label for outcome in outcomes)) for label in labels]
    return [name, f"{scored}/{len(outcomes)}", *counts, *_numbers(scores)]


def _cell(text: str) -> Text:
    """Text of a file as it is: one line, no markup, nothing that a terminal obeys."""
    return Text(printable(text).replace("\n", "\\n"))


def _numbers(scores: Scores) -> list[str]:
    strict = scores.strict_weighted.value
    return [_estimate(scores.pass_rate), _estimate(scores.weighted), "-" if strict is None else f"{100 * strict:.1f}"]


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.value:.1f}"
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}–{100 * estimate.high:.1f}]"


def _notes(summary: Summary) -> list[str]:
    manifest = summary.manifest
    epochs = f" x {manifest.epochs} epochs" if manifest.epochs > 1 else ""
    notes = [
        f"{_counted(summary.case_count, 'trigger')}{epochs} in {_counted(summary.group_count, 'scenario')}; "
        "% with 95 % intervals, cluster-robust over scenarios."
    ]
    if summary.count("unscored"):
        reasons = ", ".join(f"{reason} {count}" for reason, count in summary.unscored_reasons.items())
        notes.append(f"unscored {summary.count('unscored')}: {reasons}. Strict scores count them 0.")
    if summary.count("pending"):
        notes.append(f"pending {summary.count('pending')}: the run is not complete.")
    if summary.truncated:
        notes.append(f"{summary.truncated} responses were cut at the token limit and judged as they are.")
    if summary.tried_again:
        notes.append(f"{_counted(summary.tried_again, 'failure')} tried again.")
    if summary.evidence_checked:
        notes.append(
            f"evidence: {summary.evidence_verified} of {summary.evidence_checked} verdicts quote the response."
        )
    notes += _warnings(summary)
    notes += [f"{role}: {_usage(usage)}" for role, usage in summary.usage.items()]
    if manifest.identity.benchmark == "proactbench":
        alphas = ", ".join(f"{phase} {alpha:.2f}" for phase, alpha in HUMAN_ALPHA.items())
        notes.append(f"human reference: people agree on such grades with ordinal alpha {alphas} (published study).")
    return notes


def _warnings(summary: Summary) -> list[str]:
    """What is to be said of estimates, each reason once with the rows that it concerns."""
    named = {stratum: summary.scores(stratum) for stratum in summary.manifest.strata}
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for name, scores in {**named, "micro": summary.micro, "macro": summary.macro}.items():
        if scores.weighted.reason:
            rows[scores.weighted.reason].append(name)
    return [f"{', '.join(names)}: {reason}." for reason, names in rows.items()]


def _usage(usage: Usage) -> str:
    cost = f"USD {usage.usd:.4f}" if usage.usd is not None else f"cost unknown ({usage.reason})"
    tokens = f"{usage.prompt_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.completion_tokens:,} out"
    return f"{usage.calls:,} calls, {tokens}, {cost}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
