"""A summary as a person reads it on a terminal."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dspy_proact.calls import Usage
from dspy_proact.corpus import CONTROL_RULE, HUMAN_ALPHA
from dspy_proact.report.agreement import Agreement, agree_within
from dspy_proact.report.controls import NOT_ASKED, Controls
from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, percent, points
from dspy_proact.report.offers import author_agreement
from dspy_proact.report.outcome import Outcome
from dspy_proact.report.summary import SMALL, Grader, Scores, Summary, is_small
from dspy_proact.stats import Figure, Repeats


def print_summary(summary: Summary, console: Console, by: Sequence[str] = ()) -> None:
    """Print scores with denominators and intervals, breakdowns, then what is unscored, verified and used.

    Raises:
        UsageError: The cases have no such key to break down by.
    """
    breakdowns = [_breakdown(summary, key) for key in by]
    for line in _heading(summary):
        console.print(cell(line))
    console.print(_table(summary))
    for table in breakdowns:
        console.print(table)
    for line in _notes(summary, bool(by)):
        console.print(cell(line))


def agreement_lines(agreement: Agreement) -> list[str]:
    """Two gradings of the same responses, in sentences; neither is the truth."""
    first, second = agreement.first, agreement.second
    if not agreement.responses:
        return [f"{first} and {second}: no response was graded by both."]
    labels = list(agreement.table)
    flips = [(a, b, agreement.table[a][b]) for a in labels for b in labels if a != b and agreement.table[a][b]]
    flipped = ", ".join(f"{a} -> {b} {count}" for a, b, count in flips) or "none"
    quotes = [f"{e.verified} of {e.checked}" for e in agreement.evidence]
    return [
        f"{first} and {second} on {counted(agreement.responses, 'response')}: same grade {percent(agreement.exact)} %, "
        f"quadratic kappa {coefficient(agreement.kappa)}.",
        f"flips from the first to the second: {flipped}. Mean score of the second minus the first: "
        f"{points(agreement.shift)} points.",
        f"verdicts with a quote that stands in the response: {quotes[0]} and {quotes[1]}.",
    ]


def control_lines(controls: Controls) -> Iterator[str]:
    """The rate of unwanted offers with its rule; nothing where control turns were not asked for."""
    if controls.reason:
        if controls.reason != NOT_ASKED:
            yield f"unwanted offers: {controls.reason}."
        return
    scored, total = controls.count("scored"), len(controls.outcomes)
    evidence, authors = controls.evidence, author_agreement()
    rate = controls.unwanted_offers
    told = f" ({rate.reason})" if rate.reason else ""
    yield (
        f"unwanted offers: {percent(rate)} % of {scored}/{total} control turns{told}; every quote of "
        f"{evidence.verified} of {evidence.checked} verdicts with an offer stands. In no score above."
    )
    if controls.grounded[1]:
        hang, unwanted = controls.grounded
        yield f"{hang} of {counted(unwanted, 'unwanted offer')} hang on the conversation, the others would fit anybody."
    yield f"{CONTROL_RULE}."
    yield (
        f"author reference: the sample's raters agree on unwanted offers with nominal alpha {coefficient(authors)} "
        "(author ratings, no human study)."
    )


def _heading(summary: Summary) -> list[str]:
    manifest = summary.manifest
    program = manifest.identity.assistant.program if manifest else "unknown"
    told = f" ({program})" if program == "prompt" or program.startswith("compiled:") else ""
    heading = f"{summary.benchmark}: {summary.model}{told} judged by {summary.judge}"
    learned = manifest.learned_on if manifest else 0
    warning = f"compiled on {learned} of these {counted(manifest.corpus.rows, manifest.nouns.row)}" if manifest else ""
    return [
        heading,
        *([STAND_IN] if summary.embedded else []),
        *([f"{warning}: on them this is no test of it; its card has one, out of fold"] if learned else []),
    ]


def _table(summary: Summary) -> Table:
    table = _empty_table(summary, "phase")
    for stratum in summary.strata:
        table.add_row(*map(cell, _row(summary, stratum, summary.of_stratum(stratum))))
    table.add_section()
    table.add_row(*map(cell, _row(summary, "micro", summary.outcomes)))
    table.add_row("macro", *[""] * (1 + len(summary.labels)), *map(cell, _numbers(summary.macro)))
    return table


def _breakdown(summary: Summary, key: str) -> Table:
    table = _empty_table(summary, key)
    for group, (outcomes, _) in summary.breakdown(key).items():
        small = "*" if is_small(outcomes) else ""
        table.add_row(*map(cell, _row(summary, f"{group}{small}", outcomes)))
    return table


def _empty_table(summary: Summary, first: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column(cell(first), overflow="fold")
    for heading in ("scored", *(label.lower() for label in summary.labels), "pass rate", "weighted", "strict"):
        table.add_column(cell(heading), justify="right", no_wrap=True)
    return table


def _row(summary: Summary, name: str, outcomes: Sequence[Outcome]) -> list[str]:
    scored = sum(outcome.state == "scored" for outcome in outcomes)
    counts = [str(sum(outcome.label == label for outcome in outcomes)) for label in summary.labels]
    return [name, f"{scored}/{len(outcomes)}", *counts, *_numbers(summary.scores_of(outcomes))]


def _numbers(scores: Scores) -> list[str]:
    strict = scores.strict_weighted.value
    return [percent(scores.pass_rate), percent(scores.weighted), "-" if strict is None else f"{100 * strict:.1f}"]


def _notes(summary: Summary, broken_down: bool) -> list[str]:
    epochs = summary.manifest.epochs if summary.manifest else 1
    times = f" x {epochs} epochs" if epochs > 1 else ""
    notes = [
        f"{counted(summary.case_count, 'trigger')}{times} in {counted(summary.group_count, 'scenario')}; "
        "% with 95 % intervals, cluster-robust over scenarios."
    ]
    if broken_down:
        notes.append(
            f"* fewer than {SMALL} triggers. Intervals of groups are not adjusted for there being many of them: "
            "a group that stands out may do so by chance."
        )
    if summary.count("unscored"):
        reasons = ", ".join(f"{reason} {count}" for reason, count in summary.unscored_reasons.items())
        notes.append(f"unscored {summary.count('unscored')}: {reasons}. Strict scores count them 0.")
    if summary.count("pending"):
        notes.append(f"pending {summary.count('pending')}: the run is not complete.")
    if summary.truncated:
        notes.append(f"{summary.truncated} responses were cut at the token limit and judged as they are.")
    if summary.tried_again:
        notes.append(f"{counted(summary.tried_again, 'failure')} tried again.")
    if summary.evidence_checked:
        notes.append(
            f"evidence: {summary.evidence_verified} of {summary.evidence_checked} verdicts quote the response."
        )
    notes += [*_warnings(summary), *control_lines(summary.controls)]
    notes += [*_several(summary), *(_variances(summary.repeats) if summary.repeats else [])]
    notes += [f"{role}: {_usage(usage)}" for role, usage in summary.usage.items()]
    if summary.benchmark == "proactbench":
        alphas = ", ".join(f"{phase} {alpha:.2f}" for phase, alpha in HUMAN_ALPHA.items())
        notes.append(f"human reference: people agree on such grades with ordinal alpha {alphas} (published study).")
    return notes


def _several(summary: Summary) -> Iterator[str]:
    """What several verdicts on one response tell."""
    several, unanimous = summary.judged_again
    if not summary.judged_severally:
        return
    yield (
        f"{counted(several, 'response')} with several verdicts: {unanimous} unanimous. "
        "Grade: the commonest, ties to the lower; weighted: their mean."
    )
    if summary.awaited:
        yield f"{counted(summary.awaited, 'further verdict')} that --judge-epochs asked for are still to come."
    if len(summary.judges) > 1 or any(outcome.unread for outcome in summary.outcomes):
        yield from map(_grader, summary.graders)
        for first, second in combinations(summary.judges, 2):
            yield from agreement_lines(agree_within(summary.outcomes, first, second, summary.labels))


def _grader(grader: Grader) -> str:
    evidence = grader.evidence
    quotes = f"{evidence.verified} of {evidence.checked} quote the response"
    missing = "".join(f", {reason} {count}" for reason, count in grader.unread.items())
    unread = f"; {sum(grader.unread.values())} not there{missing}" if grader.unread else ""
    verdicts = counted(grader.verdicts, "verdict")
    return f"judge {grader.name}: {verdicts}, weighted {percent(grader.weighted)}, {quotes}{unread}."


def _variances(repeats: Repeats) -> list[str]:
    """Where the scores vary, and how often it pays to ask."""
    named = {
        "triggers": repeats.trigger_variance,
        "responses to one trigger": repeats.response_variance,
        "verdicts on one response": repeats.judge_variance,
    }
    if repeats.response_variance.value is None:
        named = {"triggers": repeats.trigger_variance, "answers to one trigger": repeats.within_variance}
    known = [f"{name} {figure.value:.3f}" for name, figure in named.items() if figure.value is not None]
    variances = known or ["nothing that can be told from so little"]
    worth = {"epochs": repeats.epochs_worth, "judge epochs": repeats.judge_epochs_worth}
    return [
        f"variance of the score between {', '.join(variances)}.",
        f"worth paying for: {', '.join(f'{name} {_figure(figure)}' for name, figure in worth.items())}; "
        "more buy at most a tenth of the variance of the mean.",
    ]


def _figure(figure: Figure[int]) -> str:
    return f"unknown ({figure.reason})" if figure.value is None else str(figure.value)


def _warnings(summary: Summary) -> list[str]:
    """What is to be said of estimates, each reason once with the rows that it concerns."""
    named = {stratum: summary.scores(stratum) for stratum in summary.strata}
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for name, scores in {**named, "micro": summary.micro, "macro": summary.macro}.items():
        if scores.weighted.reason:
            rows[scores.weighted.reason].append(name)
    return [f"{', '.join(names)}: {reason}." for reason, names in rows.items()]


def _usage(usage: Usage) -> str:
    cost = f"USD {usage.usd:.4f}" if usage.usd is not None else f"cost unknown ({usage.reason})"
    tokens = f"{usage.prompt_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.completion_tokens:,} out"
    return f"{usage.calls:,} calls, {tokens}, {cost}"
