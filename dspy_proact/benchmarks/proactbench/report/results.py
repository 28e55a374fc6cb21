"""A results file of the official evaluator as a summary."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus import (
    TRIGGERS_PER_PHASE,
    Corpus,
    Results,
    ResultTrigger,
    TokenUsage,
    trigger_key,
    write_results,
)
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Origin, Phase, Verdict
from dspy_proact.errors import RunError, UsageError
from dspy_proact.evidence import locate_quotes
from dspy_proact.report.measured import Controls
from dspy_proact.report.numbers import share
from dspy_proact.report.summary import Summary
from dspy_proact.runs import GivenVerdict, Outcome, RunFolder

UNNAMED = "a judge that the file does not name"


def summarize_results(results: Results) -> Summary:
    """The scores of a results file; its triggers without a grade are unscored, whatever the file counts them as."""
    return Summary(
        path=results.name,
        benchmark="proactbench",
        model=results.model,
        judges=(UNNAMED,),
        strata=tuple(Phase),
        labels=tuple(Grade),
        nouns=NOUNS,
        controls=Controls(reason="a results file holds no control turns"),
        embedded=results.model == "embedded",
        outcomes=tuple(map(_outcome, results.triggers)),
    )


def _outcome(trigger: ResultTrigger) -> Outcome:
    origin = trigger.origin
    user = {"user": trigger.user_message, "assistant": None}
    outcome = Outcome(
        stratum=trigger.rubric.phase,
        group=origin.scenario,
        state="pending",
        key=trigger.key,
        response=trigger.response,
        meta={**origin.model_dump(), "turn": trigger.turn, "curated_response": trigger.curated_response or ""},
        view={"conversation": [user], "turn": trigger.turn, "rubric": trigger.rubric.model_dump(mode="json")},
    )
    if trigger.unscored_reason:
        return outcome.unscored(trigger.unscored_reason)
    return outcome.graded([_verdict(trigger)], tuple(Grade))


def _verdict(trigger: ResultTrigger) -> GivenVerdict:
    assert trigger.grade is not None, "asked of graded triggers only"
    quotes = locate_quotes(trigger.evidence, trigger.response or "")
    verdict = Verdict(reasoning=trigger.reasoning, evidence=quotes, grade=trigger.grade)
    detail = verdict.model_dump(mode="json")
    return GivenVerdict(UNNAMED, 1, verdict.grade, verdict.grade.score, verdict.verified, detail)


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


PUBLISHED_DIALOGUES = 198
"""Dialogues of the published corpus; a file with all of them should have its triggers too."""

_PROSE = 40
"""Characters from which on a last line counts as prose; shorter ones are headings, labels and signatures."""
_LONGEST_LABEL = 60
"""Characters of a stray label that are told."""
_LISTED = re.compile(r"\s*([-*+|>#]|\d+[.)])")


@dataclass(frozen=True)
class Dropped:
    """Triggers that a results file should have and does not."""

    by_phase: Mapping[str, int] | None
    """None where it cannot be known."""
    reason: str
    """Against what it was counted, or why it could not be."""

    @property
    def total(self) -> int | None:
        """Over all phases."""
        return None if self.by_phase is None else sum(self.by_phase.values())


@dataclass(frozen=True)
class Check:
    """What is wrong with a results file; triggers are named by their keys."""

    dropped: Dropped
    stray: Mapping[str, int]
    """Labels and statuses that are none of the format's own words, with their counts."""
    unfound: tuple[str, ...]
    """PASS or PARTIAL with evidence that is not in the response, or too short to count."""
    unquoted: tuple[str, ...]
    """PASS or PARTIAL without evidence."""
    missing: tuple[str, ...]
    """No response at all."""
    empty: tuple[str, ...]
    """A response of blanks, whether it was judged or not."""
    cut: tuple[str, ...]
    """A response that ends within a sentence, as one does that was cut at a token limit; the file does not say."""
    orphans: tuple[str, ...]
    """Responses without a trigger."""
    stated: Mapping[str, Mapping[str, int]]
    """Counts by phase and label, as the rows state them."""
    counted: Mapping[str, Mapping[str, int]]
    """The same, counted from the labels as the official evaluator does."""
    stated_triggers: int
    """Triggers by the rows' own count."""
    triggers: int
    """Triggers that are there."""
    recomputed: Mapping[str, float | None]
    """Weighted score of each phase over what can be read, in [0, 1]."""
    ignored_fields: Mapping[str, int]

    @property
    def misstated(self) -> bool:
        """Whether the rows' own counts differ from their labels."""
        return _nonzero(self.stated) != _nonzero(self.counted)


def check_results(results: Results, corpus: Corpus | None = None) -> Check:
    """Look for faults.

    Args:
        results: The file.
        corpus: What it answers; without it, dropped triggers show only in a file with all published dialogues.
    """
    triggers = results.triggers
    credited = [trigger for trigger in triggers if trigger.grade in (Grade.PASS, Grade.PARTIAL)]
    quoting = [trigger for trigger in credited if trigger.evidence]
    answered = [trigger for trigger in triggers if trigger.response is not None]
    return Check(
        dropped=_dropped(results, corpus),
        stray=_stray(results),
        unfound=tuple(trigger.key for trigger in quoting if not _is_found(trigger)),
        unquoted=tuple(trigger.key for trigger in credited if not trigger.evidence),
        missing=tuple(trigger.key for trigger in triggers if trigger.response is None),
        empty=tuple(trigger.key for trigger in answered if not _text(trigger).strip()),
        cut=tuple(trigger.key for trigger in answered if _is_cut(_text(trigger))),
        orphans=results.orphans,
        stated=results.stated,
        counted=_counted(results),
        stated_triggers=results.stated_triggers,
        triggers=len(triggers),
        recomputed=_recomputed(results),
        ignored_fields=results.ignored_fields,
    )


def check_document(check: Check) -> dict[str, Any]:
    """The faults as JSON; lists hold keys of triggers."""
    return {
        "dropped": {"total": check.dropped.total, **asdict(check.dropped)},
        "stray_labels": check.stray,
        "evidence_not_in_response": list(check.unfound),
        "no_evidence": list(check.unquoted),
        "missing_responses": list(check.missing),
        "empty_responses": list(check.empty),
        "responses_that_end_within_a_sentence": list(check.cut),
        "responses_without_a_trigger": list(check.orphans),
        "counts_stated": check.stated,
        "counts_from_labels": check.counted,
        "triggers_stated": check.stated_triggers,
        "weighted_stated": {phase: weighted(counts) for phase, counts in check.stated.items()},
        "weighted_recomputed": check.recomputed,
        "ignored_fields": check.ignored_fields,
    }


def check_lines(check: Check) -> list[str]:
    """The faults in sentences, the gravest first."""
    dropped = check.dropped
    if dropped.by_phase is None:
        lines = [f"dropped triggers: cannot be known ({dropped.reason})."]
    else:
        phases = ", ".join(f"{phase} {count}" for phase, count in dropped.by_phase.items() if count)
        lines = [f"dropped triggers: {dropped.total}{f' ({phases})' if phases else ''}, {dropped.reason}."]
    strays = ", ".join(f"{label!r} {count}" for label, count in check.stray.items())
    keys = {
        "PASS or PARTIAL whose evidence is too short or not in the response": check.unfound,
        "PASS or PARTIAL without evidence": check.unquoted,
        "no response": check.missing,
        "empty response": check.empty,
        "response that ends within a sentence, so perhaps cut": check.cut,
        "response without a trigger": check.orphans,
    }
    faults = {"labels that the official evaluator loses": (sum(check.stray.values()), strays)}
    faults |= {what: (len(of), _first(of)) for what, of in keys.items()}
    lines += [f"{what}: {count}{f' ({which})' if which else ''}." for what, (count, which) in faults.items()]
    if check.misstated:
        lines.append(f"counts stated in the rows: {_told(check.stated)}; by their own labels: {_told(check.counted)}.")
    else:
        lines.append("counts stated in the rows agree with their labels.")
    if check.stated_triggers != check.triggers:
        lines.append(f"triggers stated in the rows: {check.stated_triggers}; there are {check.triggers}.")
    stated = ", ".join(f"{phase} {share(weighted(counts))}" for phase, counts in check.stated.items())
    recomputed = ", ".join(f"{phase} {share(score)}" for phase, score in check.recomputed.items())
    return [*lines, f"weighted score by the stated counts: {stated or 'none'}; recomputed: {recomputed}."]


def _told(counts: Mapping[str, Mapping[str, int]]) -> str:
    nonzero = {phase: [f"{label} {n}" for label, n in of.items() if n] for phase, of in counts.items()}
    return ", ".join(f"{phase} {'/'.join(told)}" for phase, told in nonzero.items() if told) or "none"


def _first(keys: tuple[str, ...]) -> str:
    """The first of some keys, and how many more there are."""
    return f"{keys[0]}{f' and {len(keys) - 1} more' if len(keys) > 1 else ''}" if keys else ""


def weighted(counts: Mapping[str, int]) -> float | None:
    """The published convention on counts by label: PASS 1, PARTIAL 0.5, FAIL 0, anything else left out."""
    scored = sum(counts.get(grade, 0) for grade in Grade)
    return sum(grade.score * counts.get(grade, 0) for grade in Grade) / scored if scored else None


def _recomputed(results: Results) -> dict[str, float | None]:
    grades = [(trigger.rubric.phase, trigger.grade) for trigger in results.triggers if trigger.grade]
    counts = {phase: Counter(str(grade) for of, grade in grades if of is phase) for phase in Phase}
    return {str(phase): weighted(counts[phase]) for phase in Phase}


def _is_found(trigger: ResultTrigger) -> bool:
    return any(quote.counts for quote in locate_quotes(trigger.evidence, _text(trigger)))


def _is_cut(response: str) -> bool:
    """Whether a response ends with a letter in a line of prose: no heading, list item or table row is one."""
    last = response.rstrip().rpartition("\n")[2]
    return len(last) >= _PROSE and last[-1].isalpha() and not _LISTED.match(last)


def _stray(results: Results) -> dict[str, int]:
    strays = [trigger for trigger in results.triggers if trigger.stray]
    named = [f"{trigger.status}/{trigger.label}" for trigger in strays]
    told = (name if len(name) <= _LONGEST_LABEL else f"{name[:_LONGEST_LABEL]}..." for name in named)
    return dict(Counter(told).most_common())


def _dropped(results: Results, corpus: Corpus | None) -> Dropped:
    here = Counter(str(trigger.rubric.phase) for trigger in results.triggers)
    if corpus is not None:
        keys = {trigger.key for trigger in results.triggers}
        corpus.require((trigger.key for trigger in results.triggers), results.name)
        dropped = Counter(
            str(trigger.rubric.phase)
            for dialogue in corpus.dialogues
            for trigger in dialogue.triggers
            if trigger_key(dialogue.origin.dialogue, trigger.turn) not in keys
        )
        return Dropped({phase: dropped[phase] for phase in Phase}, f"against the corpus {corpus.name!r}")
    if results.dialogue_count == PUBLISHED_DIALOGUES:
        by_phase = {phase: max(0, total - here[phase]) for phase, total in TRIGGERS_PER_PHASE.items()}
        return Dropped(by_phase, f"taken for the published corpus, which has {sum(TRIGGERS_PER_PHASE.values())}")
    return Dropped(None, "name the corpus that it answers with --corpus")


def _counted(results: Results) -> dict[str, dict[str, int]]:
    """Counts as the official evaluator makes them: SKIPPED unless evaluated, else the label as it stands."""
    counts: dict[str, Counter[str]] = {}
    for trigger in results.triggers:
        evaluated = trigger.status == "EVALUATED" and trigger.label is not None
        counts.setdefault(trigger.rubric.phase, Counter())[(trigger.label or "") if evaluated else "SKIPPED"] += 1
    return {str(phase): dict(count) for phase, count in counts.items()}


def _nonzero(counts: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
    return {(phase, label): n for phase, labels in counts.items() for label, n in labels.items() if n}


def _text(trigger: ResultTrigger) -> str:
    return trigger.response or ""
