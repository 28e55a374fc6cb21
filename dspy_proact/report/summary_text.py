"""A summary as a JSON document and on a terminal. The shape of the document is a promise: scripts read it.

A value that cannot be given is null, with a `reason` beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dspy_proact.report.agreement import GradingAgreement, agree_between, agreement_lines
from dspy_proact.report.glossary import explained
from dspy_proact.report.headline import headline
from dspy_proact.report.measured import SMALL, ControlCases, is_small
from dspy_proact.report.numbers import counted, document, fields_of, listed, percent, share
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.runs import Nouns, Outcome, cause_lines
from dspy_proact.stats import Repeats

if TYPE_CHECKING:
    from dspy_proact.report.summary import Scores, Summary


def summary_document(summary: "Summary", by: Sequence[str] = ()) -> dict[str, Any]:
    """The document of `report --json`, with breakdowns by these keys; raises `UsageError` where cases have none."""
    nouns, controls, by_stratum = summary.nouns, summary.controls, summary.leading_mean == "macro"
    first = headline(summary)
    parts = {
        "headline": first.text,
        "claim": first.claim,
        "run": _run(summary),
        "complete": summary.complete,
        nouns.groups: summary.group_count,
        f"{nouns.groups}_reached": summary.groups_reached,
        nouns.cases: summary.counts(),
        nouns.strata: {
            stratum: counts_and_scores(summary, summary.of_stratum(stratum), summary.scores(stratum))
            for stratum in summary.strata
        },
        "overall": {
            "micro": document(summary.micro),
            "macro": {
                **document(summary.macro),
                **(_measures_document(summary, summary.outcomes, by_stratum=True) if by_stratum else {}),
            },
            **_measures_document(summary, summary.outcomes),
        },
        **({"controls": None, "controls_reason": controls.reason} if controls.reason else _controls(controls)),
        "evidence": document(summary.evidence),
        "usage": {role: document(usage) for role, usage in summary.usage.items()},
        "usd": summary.usd,
        **({"reused": document(summary.reused)} if summary.reused else {}),
        **summary.reporting.run(summary).document,
    }
    breakdowns = {
        key: {
            group: counts_and_scores(summary, outcomes, summary.scores_of(outcomes))
            | ({"small": True} if is_small(outcomes) else {})
            for group, outcomes in summary.breakdown(key).items()
        }
        for key in by
    }
    return parts | _repeated(summary) | ({"breakdowns": breakdowns} if by else {})


def counts_and_scores(summary: "Summary", outcomes: Sequence[Outcome], scores: "Scores") -> dict[str, Any]:
    """Counts by grade and state, and the scores, of some outcomes of a summary."""
    labels = {label.lower(): sum(o.label == label for o in outcomes) for label in summary.labels}
    states = {state: sum(o.state == state for o in outcomes) for state in ("unscored", "pending")}
    return {"total": len(outcomes), **labels, **states, **document(scores), **_measures_document(summary, outcomes)}


def _run(summary: "Summary") -> dict[str, Any]:
    nouns, manifest = summary.nouns, summary.manifest
    of_any = {
        **fields_of(summary, "path", "benchmark", "model"),
        "judge": summary.judge or None,
        **({} if summary.judges else {"judge_reason": "graded by the benchmark"}),
        nouns.cases: summary.case_count,
        **fields_of(summary, "truncated", "embedded"),
    }
    if manifest is None:
        return of_any
    identity, corpus = manifest.identity, manifest.corpus
    return of_any | {
        "id": identity.digest()[:8],
        "judges": list(summary.judges),
        **({"roles": {name: role.model for name, role in identity.roles.items()}} if identity.roles else {}),
        "program": identity.assistant.program,
        **fields_of(manifest, "system_prompt", "learned_on", "cards"),
        "judge_prompt": identity.judges[0].program if identity.judges else None,
        "parent": identity.parent,
        **({"answers": fields_of(manifest.answers, "name", "cases")} if manifest.answers else {}),
        **{name: value for name in ("variant", "tags", "note", "commit") if (value := getattr(manifest, name))},
        **({"shards": fields_of(shards, "count", "numbers", "cases")} if (shards := manifest.shards) else {}),
        **fields_of(manifest, "created", "epochs", "judge_epochs"),
        **fields_of(summary, "tried_again", "seconds"),
        **({"thoughts": dict(summary.thoughts)} if any(summary.thoughts.values()) else {}),
        **({"finishes": dict(summary.finishes)} if summary.finishes else {}),
        "corpus": {
            **fields_of(corpus, "name", "revision", "ignored_fields", "left_out"),
            nouns.rows: corpus.rows,
            nouns.cases: corpus.cases,
            "sha256": identity.corpus,
        },
        "versions": manifest.versions,
    }


def _controls(controls: ControlCases) -> dict[str, Any]:
    own = {controls.key: document(controls.rate), "evidence": document(controls.evidence)}
    return {"controls": {**controls.counts(), **own, **controls.declared.report(controls).document}}


def _measures_document(summary: "Summary", outcomes: Sequence[Outcome], by_stratum: bool = False) -> dict[str, Any]:
    """The measures that the benchmark declares; nothing where it declares none."""
    measures = document(summary.measured(outcomes, by_stratum))
    return {"measures": measures} if measures else {}


def _agreements(summary: "Summary") -> Iterator[GradingAgreement]:
    """Of each two judges, each by its own verdicts."""
    names, labels = summary.judge_names, summary.labels
    for first, second in combinations(summary.judges, 2):
        pairs = [(outcome.by(first, labels), outcome.by(second, labels)) for outcome in summary.outcomes]
        yield agree_between(pairs, names[first], names[second], summary)


def _repeated(summary: "Summary") -> dict[str, Any]:
    """What several verdicts and several epochs tell; nothing where everything was asked once."""
    blocks: dict[str, Any] = {}
    if summary.judged_severally:
        several, unanimous = summary.judged_again
        graders = {
            grader.name: {name: item for name, item in document(grader).items() if name != "name" and item is not None}
            for grader in summary.graders
        }
        blocks["several_verdicts"] = {
            "responses": several,
            "unanimous": unanimous,
            "awaited": summary.awaited,
            "judges": graders,
            "agreement": [document(agreement, summary.nouns) for agreement in _agreements(summary)],
        }
    if summary.repeats:
        case = summary.nouns.case
        blocks["repeats"] = {name.replace("case", case): item for name, item in document(summary.repeats).items()}
    return blocks


def print_summary(
    summary: "Summary",
    console: Console | None = None,
    by: Sequence[str] = (),
    explain: bool = False,
    options: Callable[[str], str] = str,
) -> None:
    """Print scores with denominators and intervals, breakdowns, what is unscored, verified and used.

    With `explain`, print what the numbers rest on too. `options` puts what arguments are called elsewhere into a line.
    Raises `UsageError` where cases have no key to break down by.
    """
    nouns = summary.nouns
    breakdowns: list[TerminalTable | str] = []
    for key in by:
        groups = summary.breakdown(key)
        scores = {name: summary.scores_of(outcomes) for name, outcomes in groups.items()}
        marked = {f"{name}{'*' if is_small(of) else ''}": (of, scores[name]) for name, of in groups.items()}
        reasons = ((name, of.weighted.reason) for name, of in scores.items())
        breakdowns += [_table(summary, key, marked), *reason_lines(reasons)]
    show(console, *headline(summary).lines)
    strata = {stratum: summary.of_stratum(stratum) for stratum in summary.strata}
    rows = {stratum: (outcomes, summary.scores(stratum)) for stratum, outcomes in strata.items()}
    means = {"micro": (summary.outcomes, summary.micro), "macro": (None, summary.macro)}
    show(console, _table(summary, nouns.stratum, rows, means if summary.ordered else {"micro": means["micro"]}))
    if measures := summary.shown_measures(explain):
        measured = {name: summary.measured(of) for name, of in {**strata, "micro": summary.outcomes}.items()}
        if summary.leading_mean == "macro":
            measured["macro"] = summary.measured(summary.outcomes, by_stratum=True)
        lines = ([name, *(str(of[measure.name]) for measure in measures)] for name, of in measured.items())
        show(console, table((nouns.stratum, *(measure.title for measure in measures)), lines))
    show(console, *breakdowns, *map(options, _notes(summary, bool(by), explain)))
    if explain:
        show(console, *summary.reporting.run(summary).details, *_rests_on(summary))


def _table(
    summary: "Summary", first: str, *sections: "Mapping[str, tuple[Sequence[Outcome] | None, Scores]]"
) -> TerminalTable:
    """Rows by name: counts, score, pass rate, and the strict score where some are unscored; no counts for None."""
    strict = summary.count("unscored") > 0 and summary.ordered

    def row(name: str, outcomes: Sequence[Outcome] | None, scores: "Scores") -> list[str]:
        counts = [""] * (1 + len(summary.labels))
        if outcomes is not None:
            labels = [outcome.label for outcome in outcomes]
            scored = sum(outcome.state == "scored" for outcome in outcomes)
            counts = [f"{scored}/{len(outcomes)}", *(str(labels.count(label)) for label in summary.labels)]
        rates = [percent(scores.weighted), percent(scores.pass_rate)] if summary.ordered else []
        return [name, *counts, *rates, *([share(scores.strict_weighted.value)] if strict else [])]

    labels = (label.lower() for label in summary.labels)
    rates = ("score", "pass rate") if summary.ordered else ()
    headings = [first, "scored", *labels, *rates, *(["strict"] if strict else [])]
    return table(headings, *([row(name, *of) for name, of in section.items()] for section in sections))


def _notes(summary: "Summary", broken_down: bool, explain: bool) -> Iterator[str]:
    nouns, evidence = summary.nouns, summary.evidence
    unscored, pending = summary.count("unscored"), summary.count("pending")
    epochs = summary.manifest.epochs if summary.manifest else 1
    again = f" x {epochs} epochs" if epochs > 1 else ""
    control_count = len({outcome.key for outcome in summary.controls.outcomes})
    controls = f" and {counted(control_count, nouns.control, nouns.controls)}{again}" if control_count else ""
    yield (
        f"{counted(summary.case_count, nouns.case, nouns.cases)}{again} in "
        f"{counted(summary.group_count, nouns.group, nouns.groups)}{controls}; % with 95 % intervals. "
        f"{explained(nouns, 'micro', 'macro')}"
    )
    if broken_down:
        yield (
            f"* fewer than {SMALL} {nouns.cases}. Intervals of groups are not adjusted for multiple comparisons: "
            "a group may stand out by chance."
        )
    if unscored:
        reasons = ", ".join(f"{reason} {count}" for reason, count in summary.unscored_reasons.items())
        yield f"unscored {unscored}: {reasons}. Strict scores count them as 0."
    yield from cause_lines(summary.causes)
    yield from _cut_lines(summary)
    if pending:
        groups = counted(summary.group_count, nouns.group, nouns.groups)
        yield f"pending {pending}: the run is not complete; it reached {summary.groups_reached:,} of {groups}."
    if summary.truncated:
        yield f"{summary.truncated} responses were truncated at the token limit and judged as they are."
    yield from summary.read_otherwise
    if evidence.checked:
        yield f"evidence: {evidence.verified} of {evidence.checked} verdicts quote words found in the response."
    yield from (f"{sentence}." for sentence in summary.left_out)
    yield from warnings(summary, explain)
    if not summary.controls.reason:
        yield from _control_lines(summary.controls)
    elif summary.controls.requested:
        yield f"{summary.controls.title}: {summary.controls.reason}."
    yield from _several(summary)
    for role, usage in summary.usage.items():
        cost = f"USD {usage.usd:.4f}" if usage.usd is not None else f"cost unknown ({usage.reason})"
        if usage.usd is not None and summary.manifest and summary.manifest.is_in_batches(role):
            cost = f"{cost} in batches"
        further = summary.further_roles.get(role)
        silent = summary.tests_app and role == "assistant" and usage.prompt_tokens is None
        tokens = "tokens not known" if silent else usage.tokens
        yield f"{role}{f' {further.model}' if further else ''}: {usage.attempts}, {tokens}, {cost}"
    yield from summary.reused.lines if summary.reused else ()


def _cut_lines(summary: "Summary") -> Iterator[str]:
    """How many answers a token limit left without use, and what raises it."""
    if summary.manifest is None:
        return
    identity = summary.manifest.identity
    failures = [failure for outcome in summary.outcomes for failure in outcome.failures]
    for stage, argument, roles in (("response", "model", [identity.assistant]), ("verdict", "judge", identity.judges)):
        cut = [failure.detail for of, failure in failures if of == stage and failure.reason == "cut"]
        if cut:
            when = "before any text" if all("before any text" in detail for detail in cut) else "before their end"
            now = listed([f"{role.output_limit:,.0f}" for role in roles if isfinite(role.output_limit)])
            raised = f"raise it with `{argument}.params` max_tokens=N{f', now {now}' if now else ''}"
            yield f"cut at the token limit {when}: {counted(len(cut), stage)}; {raised}."


def _control_lines(controls: ControlCases) -> Iterator[str]:
    reason = f" ({controls.rate.reason})" if controls.rate.reason else ""
    of = f"{controls.count('scored')}/{len(controls.outcomes)} {controls.nouns.controls}"
    name, share_of = controls.declared.rate or controls.worst, f"{percent(controls.rate)} % of {of}"
    yield f"{name}: {share_of}{reason}. Not included in the scores."
    yield from controls.declared.report(controls).lines


def _rests_on(summary: "Summary") -> Iterator[str]:
    nouns = summary.nouns
    terms = {
        "score": True,
        "pass rate": True,
        "strict": summary.count("unscored") > 0,
        "interval": True,
        "measures": bool(summary.measures),
        "several verdicts": summary.judged_severally,
    }
    yield from (explained(nouns, term) for term, is_shown in terms.items() if is_shown)
    if summary.tried_again:
        yield f"{counted(summary.tried_again, 'failure')} retried."
    if summary.repeats:
        yield from _variances(summary.repeats, nouns)
    if not summary.controls.reason:
        yield from map(str, summary.controls.declared.report(summary.controls).details)
    yield from summary.reporting.notes


def _several(summary: "Summary") -> Iterator[str]:
    several, unanimous = summary.judged_again
    if not summary.judged_severally:
        return
    yield f"{counted(several, 'response')} with several verdicts: {unanimous} unanimous."
    if summary.awaited:
        yield f"{counted(summary.awaited, 'further verdict')} pending."
    if len(summary.judges) > 1 or any(outcome.unread for outcome in summary.outcomes):
        for grader in summary.graders:
            evidence, verdicts = grader.evidence, counted(grader.verdicts, "verdict")
            reasons = "".join(f", {reason} {count}" for reason, count in grader.unread.items())
            yield (
                f"judge {summary.judge_names[grader.name]}: {verdicts}, score {percent(grader.weighted)}, "
                f"{evidence.verified} of {evidence.checked} quote words found in the response"
                f"{f'; {sum(grader.unread.values())} missing{reasons}' if reasons else ''}."
            )
        for agreement in _agreements(summary):
            yield from agreement_lines(agreement)


def _variances(repeats: Repeats, nouns: Nouns) -> list[str]:
    """Where the scores vary, and how often it pays to ask."""
    named = {
        nouns.cases: repeats.case_variance,
        f"responses to one {nouns.case}": repeats.response_variance,
        "verdicts on one response": repeats.judge_variance,
    }
    if repeats.response_variance.value is None:
        # Of one verdict a response, both parts are told together; of one response a case, the judge's alone.
        named[f"answers to one {nouns.case}"] = repeats.within_variance
    known = [f"{name} {figure.value:.3f}" for name, figure in named.items() if figure.value is not None]
    figures = {"epochs": repeats.epochs_worth, "judge epochs": repeats.judge_epochs_worth}
    worth = [
        f"{name} {f'unknown ({figure.reason})' if figure.value is None else figure.value}"
        for name, figure in figures.items()
    ]
    return [
        f"variance of the score between {', '.join(known)}." if known else "too few repeats to estimate variances.",
        f"worth paying for: {', '.join(worth)}; more reduce the variance of the mean by at most a tenth.",
    ]


def warnings(summary: "Summary", explain: bool = False) -> Iterator[str]:
    """What is to be said of estimates, each reason once, with the columns and rows of the tables that it concerns.

    A row alone stands for all of it that has an interval.
    """
    rows = {name: (summary.of_stratum(name), summary.scores(name)) for name in summary.strata}
    rows |= {"micro": (summary.outcomes, summary.micro), "macro": (None, summary.macro)}
    concerned: dict[str, dict[str, list[str]]] = {}
    for row, (outcomes, scores) in rows.items():
        columns = {"score": scores.weighted, "pass rate": scores.pass_rate}
        if outcomes is not None or summary.leading_mean == "macro":
            measured = summary.measured(summary.outcomes if outcomes is None else outcomes, outcomes is None)
            columns |= {measure.title: measured[measure.name] for measure in summary.shown_measures(explain)}
        reasons_of = {column: (estimate.reason or "").split("; ") for column, estimate in columns.items()}
        bounded = {column for column, estimate in columns.items() if estimate.low is not None} or {*columns}
        for reason in dict.fromkeys(chain(*reasons_of.values())):
            own = [column for column, reasons in reasons_of.items() if reason in reasons]
            named = "" if bounded <= {*own} else f"{', '.join(own)} of "
            concerned.setdefault(reason, {}).setdefault(named, []).append(row)
    by_rows: dict[str, list[str]] = {}
    for reason, rows_of in concerned.items():
        where = "; ".join(columns + ", ".join(names) for columns, names in rows_of.items())
        by_rows.setdefault(where, []).append(reason)
    yield from (f"{where}: {'; '.join(filter(None, reasons))}." for where, reasons in by_rows.items() if any(reasons))
