"""A results file of the official evaluator as a summary, a run as such a file, and what is wrong with one."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.cases import answered_corpus, responses_of_results
from dspy_proact.benchmarks.proactbench.corpus.bundled import TRIGGERS_PER_PHASE
from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus
from dspy_proact.benchmarks.proactbench.corpus.results import Results, ResultTrigger, read_results, write_results
from dspy_proact.benchmarks.proactbench.report.reporting import CORPUS
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Origin, Phase, Verdict
from dspy_proact.errors import RunError, UsageError
from dspy_proact.evaluation.published import Counts
from dspy_proact.evaluation.results import ResultsCheck
from dspy_proact.evidence import locate_quotes
from dspy_proact.report.numbers import share
from dspy_proact.report.summary import Summary, summarize
from dspy_proact.runs import Outcome, RunFolder


def summarize_results(results: Results) -> Summary:
    """The scores of a results file; its triggers without a grade are unscored, whatever the file counts them as."""
    return summarize(responses_of_results(results))


def check_file(path: Path, named: str | None) -> ResultsCheck:
    """The own counts of a file of the official evaluator against its triggers, and the triggers that it dropped."""
    results = read_results(path)
    corpus = answered_corpus(results, named)
    checked = check_results(results, corpus)
    name = named or (CORPUS if corpus is None else corpus.name)
    return ResultsCheck(check_document(checked), check_lines(checked), name)


def export_results(folder: RunFolder, summary: Summary, path: Path) -> list[str]:
    """Write the first epoch of a run as a results file; what the format cannot hold, a line each.

    Raises a `UsageError` where it is no run of ProactBench, nothing in it was tried, or the file cannot be written.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: a run of {summary.benchmark!r}; the official format holds proactbench only")
    tried = [outcome for outcome in summary.outcomes if outcome.epoch == 1 and outcome.state != "pending"]
    if not tried:
        raise RunError(f"{summary.path}: nothing in it was tried yet; the command that began it goes on")
    if any("dialogue" not in outcome.meta for outcome in tried):
        raise UsageError(f"{summary.path}: holds items of raters, which are no dialogues; an export as CSV has them")
    dialogues = {outcome.key: str(outcome.meta["dialogue"]) for outcome in tried}
    used: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for key, attempts in folder.attempts():
        if key.epoch == 1 and key.case in dialogues:
            for call in (call for call in attempts if call.error is None):  # as the official evaluator counts them
                tokens = {"prompt_tokens": call.prompt_tokens or 0, "completion_tokens": call.completion_tokens or 0}
                used[dialogues[key.case]][call.role].update(tokens, calls=1)
    replaced = write_results(path, summary.model, [_trigger(outcome) for outcome in tried], used)
    reasons = Counter(outcome.reason for outcome in tried if outcome.reason)
    others = sum(len(outcome.verdicts) - 1 for outcome in tried if outcome.verdicts)
    lost = (
        (sum(reasons.values()), "reasons of unscored triggers: " + ", ".join(f"{r} {n}" for r, n in reasons.items())),
        (summary.count("pending"), "pending triggers, which are left out"),
        (sum(outcome.epoch > 1 for outcome in summary.outcomes), "outcomes of later epochs"),
        (others, "further verdicts on one response; the first with the common grade is kept"),
        (sum(outcome.truncated for outcome in tried), "marks of a response cut at the token limit"),
        (sum("system" in outcome.view for outcome in tried), "system texts of triggers, which the corpus has"),
        (replaced, "characters that no file holds safely, replaced by U+FFFD"),
    )
    never = (
        "judge, prompts, decoding, endpoints, versions, prices, latencies, which calls failed, and where quotes stand"
    )
    return [*(f"{count} {what}" for count, what in lost if count), never]


def _trigger(outcome: Outcome) -> ResultTrigger:
    """A trigger of the official format; of several verdicts the first that is nearest to the grade that they make."""
    view, meta = JudgeView.model_validate(outcome.view), dict(outcome.meta)
    turn, curated = int(meta.pop("turn")), str(meta.pop("curated_response"))
    trigger = ResultTrigger(
        origin=Origin.model_validate(meta),
        turn=turn,
        rubric=view.rubric,
        user_message=view.conversation[-1].user,
        response=outcome.response,
        curated_response=curated,
    )
    if not (outcome.label and outcome.verdicts):
        return trigger
    score = Grade(outcome.label).score
    nearest = min(outcome.verdicts, key=lambda verdict: abs(verdict.score - score))
    verdict = Verdict.model_validate(nearest.detail)
    evidence = tuple(quote.text for quote in verdict.evidence)
    evaluated = {"label": outcome.label, "reasoning": verdict.reasoning, "evidence": evidence}
    return trigger.model_copy(update={"status": "EVALUATED", **evaluated})


PUBLISHED_DIALOGUES = 198
"""Dialogues of the published corpus; a file with all of them should have its triggers too."""

_PROSE = 40
"""Characters from which on a last line counts as prose; shorter ones are headings, labels and signatures."""
_LONGEST_LABEL = 60
"""Characters of a stray label that are told."""
_LISTED = re.compile(r"\s*([-*+|>#]|\d+[.)])")
_FAULTS = {
    "evidence_not_in_response": "PASS or PARTIAL whose evidence is too short or not in the response",
    "no_evidence": "PASS or PARTIAL without evidence",
    "missing_responses": "no response",
    "empty_responses": "empty response",
    "responses_that_end_within_a_sentence": "response that ends within a sentence, so perhaps cut",
    "responses_without_a_trigger": "response without a trigger",
}
"""In JSON, and in a sentence."""

LabelCounts = Mapping[str, Mapping[str, int]]
"""Of triggers, by phase and label."""


@dataclass(frozen=True)
class Check:
    """What is wrong with a results file."""

    results: Results
    dropped: Mapping[str, int] | None = field(hash=False)
    """Triggers that the file should have and does not, by phase; None where it cannot be known."""
    against: str
    """What they were counted against, or why they could not be."""

    @cached_property
    def faults(self) -> Mapping[str, list[str]]:
        """Keys of the triggers at fault, by the fault's name in JSON."""
        texts = {trigger.key: trigger.response for trigger in self.results.triggers}
        credited = [trigger for trigger in self.results.triggers if trigger.grade in (Grade.PASS, Grade.PARTIAL)]
        unfound = [
            trigger.key
            for trigger in credited
            if trigger.evidence
            and not any(quote.counts for quote in locate_quotes(trigger.evidence, trigger.response or ""))
        ]
        return {
            "evidence_not_in_response": unfound,
            "no_evidence": [trigger.key for trigger in credited if not trigger.evidence],
            "missing_responses": [key for key, text in texts.items() if text is None],
            "empty_responses": [key for key, text in texts.items() if text is not None and not text.strip()],
            "responses_that_end_within_a_sentence": [key for key, text in texts.items() if _is_cut(text or "")],
            "responses_without_a_trigger": list(self.results.orphans),
        }

    @cached_property
    def stray(self) -> Mapping[str, int]:
        """Labels and statuses that are none of the format's own words, with their counts, the commonest first."""
        named = (f"{trigger.status}/{trigger.label}" for trigger in self.results.triggers if trigger.stray)
        shown = (name if len(name) <= _LONGEST_LABEL else f"{name[:_LONGEST_LABEL]}..." for name in named)
        return dict(Counter(shown).most_common())

    @cached_property
    def counted(self) -> LabelCounts:
        """Counts as the official evaluator makes them: SKIPPED unless evaluated, else the label as it stands."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for trigger in self.results.triggers:
            evaluated = trigger.status == "EVALUATED" and trigger.label is not None
            counts[str(trigger.rubric.phase)][(trigger.label or "") if evaluated else "SKIPPED"] += 1
        return {phase: dict(count) for phase, count in counts.items()}

    @property
    def misstated(self) -> bool:
        """Whether the rows' own counts differ from their labels."""
        stated, counted = (
            {(phase, label): n for phase, labels in counts.items() for label, n in labels.items() if n}
            for counts in (self.results.stated, self.counted)
        )
        return stated != counted

    @property
    def weighted(self) -> tuple[Mapping[str, float | None], Mapping[str, float | None]]:
        """Weighted scores by phase, in [0, 1]: by the stated counts, and over the grades that can be read."""
        grades = {phase: Counter[str]() for phase in Phase}
        for trigger in self.results.triggers:
            if trigger.grade:
                grades[trigger.rubric.phase][trigger.grade] += 1
        stated = {phase: _weighted(counts) for phase, counts in self.results.stated.items()}
        return stated, {str(phase): _weighted(counts) for phase, counts in grades.items()}


def check_results(results: Results, corpus: Corpus | None = None) -> Check:
    """Look for faults; without the corpus, dropped triggers show only in a file with all published dialogues."""
    if corpus is not None:
        keys = {trigger.key for trigger in results.triggers}
        corpus.require(keys, results.name)
        dropped = Counter(str(trigger.rubric.phase) for key, (_, trigger) in corpus.triggers.items() if key not in keys)
        return Check(results, {phase: dropped[phase] for phase in Phase}, f"against the corpus {corpus.name!r}")
    if results.dialogue_count == PUBLISHED_DIALOGUES:
        here = Counter(str(trigger.rubric.phase) for trigger in results.triggers)
        by_phase = {phase: max(0, total - here[phase]) for phase, total in TRIGGERS_PER_PHASE.items()}
        against = f"taken for the published corpus, which has {sum(TRIGGERS_PER_PHASE.values())}"
        return Check(results, by_phase, against)
    return Check(results, None, "name the corpus that it answers")


def check_document(check: Check) -> dict[str, Any]:
    """The faults as JSON; lists hold keys of triggers."""
    total = None if check.dropped is None else sum(check.dropped.values())
    stated, recomputed = check.weighted
    return {
        "dropped": {"total": total, "by_phase": check.dropped, "reason": check.against},
        "stray_labels": check.stray,
        **check.faults,
        "counts_stated": check.results.stated,
        "counts_from_labels": check.counted,
        "triggers_stated": check.results.stated_triggers,
        "weighted_stated": stated,
        "weighted_recomputed": recomputed,
        "ignored_fields": check.results.ignored_fields,
    }


def check_lines(check: Check) -> list[str]:
    """The faults in sentences, the gravest first."""
    results = check.results
    if check.dropped is None:
        lines = [f"dropped triggers: cannot be known ({check.against})."]
    else:
        phases = ", ".join(f"{phase} {count}" for phase, count in check.dropped.items() if count)
        named = f" ({phases})" if phases else ""
        lines = [f"dropped triggers: {sum(check.dropped.values())}{named}, {check.against}."]
    strays = ", ".join(f"{label!r} {count}" for label, count in check.stray.items())
    faults = {"labels that the official evaluator loses": (sum(check.stray.values()), strays)}
    for name, what in _FAULTS.items():
        keys = check.faults[name]
        first = f"{keys[0]}{f' and {len(keys) - 1} more' if len(keys) > 1 else ''}" if keys else ""
        faults[what] = (len(keys), first)
    lines += [f"{what}: {count}{f' ({which})' if which else ''}." for what, (count, which) in faults.items()]
    if check.misstated:
        counts_line = f"{_counts_line(results.stated)}; by their own labels: {_counts_line(check.counted)}"
        lines.append(f"counts stated in the rows: {counts_line}.")
    else:
        lines.append("counts stated in the rows agree with their labels.")
    if results.stated_triggers != len(results.triggers):
        lines.append(f"triggers stated in the rows: {results.stated_triggers}; there are {len(results.triggers)}.")
    stated, recomputed = (
        ", ".join(f"{phase} {share(score)}" for phase, score in scores.items()) for scores in check.weighted
    )
    return [*lines, f"weighted score by the stated counts: {stated or 'none'}; recomputed: {recomputed}."]


def _counts_line(counts: LabelCounts) -> str:
    nonzero = {phase: [f"{label} {n}" for label, n in of.items() if n] for phase, of in counts.items()}
    return ", ".join(f"{phase} {'/'.join(labels)}" for phase, labels in nonzero.items() if labels) or "none"


def _weighted(counts: Mapping[str, int]) -> float | None:
    """The published convention on counts by label; labels that are no grade are left out."""
    grades = tuple(counts.get(grade, 0) for grade in Grade)
    return Counts(sum(grades), grades).weighted()


def _is_cut(response: str) -> bool:
    """Whether a response ends with a letter in a line of prose: no heading, list item or table row is one."""
    last = response.rstrip().rpartition("\n")[2]
    return len(last) >= _PROSE and last[-1].isalpha() and not _LISTED.match(last)
