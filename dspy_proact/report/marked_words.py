"""How far the words that raters marked are those that a judge quotes.

The overlap of two readers of a response is the share of characters that both chose among those that either chose: 1
where they chose the same, 0 where nothing is in common. A response counts once: the mean over its raters, or over pairs
of them, which is the human reference. Responses without marked words or without a quote that was found are left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rich.console import Console

from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.evaluation.reporting import quoted
from dspy_proact.report.glossary import explained
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import counted, percent
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import reason_lines, show, table
from dspy_proact.runs import Nouns
from dspy_proact.stats import Estimate, cluster_mean

Spans = Sequence[tuple[int, int]]
"""Start and end of passages of a response, in characters."""
Marked = Mapping[str, Mapping[str, Spans]]
"""By case and rater, the words of the response that a rater marked, where they marked any."""


@dataclass(frozen=True)
class MarkedWords:
    """A judge's quotes beside the words that raters marked."""

    judge: str
    marked: int
    """Responses in which a rater marked words."""
    both: int
    """Those from which the judge quotes words too."""
    overlap: Estimate
    """Of judge and rater, the mean over responses with both, in [0, 1]; clustered by group."""
    shared: int
    """Responses in which two raters marked words."""
    people: Estimate
    """Of one rater and another, likewise."""


def marked_of(passages: Iterable[tuple[str, str, Spans]]) -> Marked:
    """Passages with their case and rater; of one rater and case, such as of several parts of it, all of them."""
    marked = defaultdict[str, dict[str, list[tuple[int, int]]]](dict)
    for case, rater, spans in passages:
        if spans:
            marked[case].setdefault(rater, []).extend(spans)
    return marked


def overlap(one: Spans, other: Spans) -> float:
    """The share of characters in both among those in either, in [0, 1]; neither is empty."""
    first, second = ({index for start, end in spans for index in range(start, end)} for spans in (one, other))
    return len(first & second) / len(first | second)


def marked_words(run: Summary, marked: Marked) -> tuple[MarkedWords, ...]:
    """One a judge of a run, over the responses of its first epoch; nothing where nobody marked a word."""
    outcomes = [outcome for outcome in run.outcomes if outcome.epoch == 1 and marked.get(outcome.key)]
    if not outcomes:
        return ()
    grounds, rows = reporting_of(run.benchmark).grounds, list[MarkedWords]()
    groups = {outcome.key: outcome.group for outcome in outcomes}
    several = {outcome.key: [*combinations(marked[outcome.key].values(), 2)] for outcome in outcomes}
    people = _mean({key: pairs for key, pairs in several.items() if pairs}, groups, "two raters marked words")
    for judge in run.judges:
        beside = dict[str, list[tuple[Spans, Spans]]]()
        for outcome in outcomes:
            verdict = next((verdict for verdict in outcome.verdicts if verdict.judge == judge), None)
            if verdict and (quotes := quoted(grounds(verdict).quotes)):
                beside[outcome.key] = [(quotes, spans) for spans in marked[outcome.key].values()]
        mean = _mean(beside, groups, "a rater marked words and the judge quotes some")
        shared = sum(map(bool, several.values()))
        row = MarkedWords(run.judge_names[judge], len(outcomes), len(beside), mean, shared, people)
        rows.append(in_nouns(row, run.nouns))
    return tuple(rows)


def _mean(pairs: Mapping[str, Sequence[tuple[Spans, Spans]]], groups: Mapping[str, str], of: str) -> Estimate:
    """The mean over responses, by their keys, of the mean overlap of their pairs."""
    if not pairs:
        return Estimate(None, reason=f"no response of which {of}")
    means = [sum(overlap(*pair) for pair in several) / len(several) for several in pairs.values()]
    return cluster_mean(means, [groups[key] for key in pairs])


def print_marked_words(rows: Sequence[MarkedWords], console: Console | None = None) -> None:
    """Print the overlap of each judge with people, and of people with each other."""
    if not rows:
        return
    first, *_ = rows
    cells = [[row.judge, str(row.both), percent(row.overlap)] for row in rows]
    cells.append(["one rater, another", str(first.shared), percent(first.people)])
    show(console, table(("words marked by raters and by", "n", "overlap, %"), cells))
    reasons = [*((row.judge, row.overlap.reason) for row in rows), ("one rater, another", first.people.reason)]
    show(
        console,
        *reason_lines(reasons),
        f"Raters marked words of {counted(first.marked, 'response')}. {explained(Nouns(), 'overlap')}",
    )
