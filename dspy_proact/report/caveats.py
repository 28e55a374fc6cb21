"""What makes the numbers of a run doubtful as a whole: it stands right below the headline, in every report."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dspy_proact.report.numbers import counted, listed
from dspy_proact.runs import StoredView
from dspy_proact.types import STATEFUL

if TYPE_CHECKING:
    from dspy_proact.report.summary import Summary

_FEWEST = 4
"""Verdicts of a judge by which it can be doubted."""
_CUT = "the server seems to cut prompts. It counted"
_MEND = "Give it a longer context; with Ollama num_ctx of the model, or OLLAMA_CONTEXT_LENGTH of the server."


def caveats(summary: "Summary") -> list[str]:
    """Sentences on what grades claim, on applications, duplicates, and servers that cut or drop or do not count."""
    of_benchmark = summary.reporting.run(summary).lines
    answers = summary.manifest.answers if summary.manifest else None
    cut_short = [f"{answers.name}: {answers.cut_short}."] if answers and answers.cut_short else []
    of_prompts = [*_unquoted(summary), *_duplicates(summary), *_prompts(summary)]
    of_part = [*_of_shards(summary), *cut_short]
    return [*of_part, *of_benchmark, *_of_app(summary), *of_prompts, *_uncounted(summary)]


def caveats_of_runs(runs: Mapping[str, "Summary"]) -> list[str]:
    """Those of several runs, by what each is called: a line that holds for several stands once."""
    names: dict[str, list[str]] = {}
    for name, summary in runs.items():
        for line in caveats(summary):
            names.setdefault(line, []).append(name)
    return [f"{listed(of)}: {line}" for line, of in names.items()]


def _of_shards(summary: "Summary") -> Iterator[str]:
    if shards := summary.manifest and summary.manifest.shards:
        part = str(shards) if shards.numbers else "a merge of shards that is not done; repeat its command"
        if shards.numbers and shards.cases:
            own, total = shards.size(shards.numbers), sum(shards.cases)
            part += f", which {'has' if len(shards.numbers) == 1 else 'have'} {own:,} of the {total:,} cases"
        yield f"A part of a run: {part}."


def _of_app(summary: "Summary") -> Iterator[str]:
    usage = summary.usage.get("assistant")
    if summary.tests_app and usage:
        cost = f"is what it reports, USD {usage.usd:.4f}" if usage.usd is not None else f"is not known ({usage.reason})"
        yield f"The cost of {summary.model} {cost}. No limit of this run holds for models that it calls itself."
    if summary.manifest and summary.manifest.identity.assistant.program == STATEFUL:
        yield (
            f"{summary.model} keeps the conversation: the earlier replies in it are its own, not those of the corpus, "
            "so the score is comparable with other stateful applications only."
        )


def _unquoted(summary: "Summary") -> Iterator[str]:
    better = summary.labels[:-1]
    for judge in summary.judges:
        own = [verdict for verdict in summary.verdicts if verdict.judge == judge and verdict.label in better]
        known = [verdict.verified for verdict in own if verdict.verified is not None]
        if len(known) >= _FEWEST and 2 * sum(known) < len(known):
            share = f"{sum(known):,} of {counted(len(known), 'verdict')} of {' or '.join(better)}"
            yield f"Few verdicts of {summary.judge_names[judge]} quote the response: {share}."


def _duplicates(summary: "Summary") -> Iterator[str]:
    """Of what a run kept of its cases; long views that stay in a log of Inspect are not compared."""
    first, again = dict[tuple[str, str | bytes], str](), dict[str, str]()
    for outcome in summary.outcomes if summary.manifest else ():
        view = outcome.view
        if isinstance(view, StoredView) or (isinstance(view, dict) and view):
            content = outcome.stratum, view.digest if isinstance(view, StoredView) else json.dumps(view, sort_keys=True)
            if first.setdefault(content, outcome.key) != outcome.key:
                again.setdefault(outcome.key, first[content])
    if again:
        key, before = next(iter(again.items()))
        cases = f"{len(again):,} of {counted(len(again) + len(first), summary.nouns.case, summary.nouns.cases)}"
        yield f"Duplicates: {cases} with the same content as an earlier one, such as {key!r} and {before!r}; all count."


def _prompts(summary: "Summary") -> Iterator[str]:
    for caller, prompts in summary.prompts.items():
        if prompts.are_cut:
            characters, tokens = prompts.longest
            counts = f"too few tokens for {prompts.cut:,} of {prompts.counted:,}"
            yield f"{caller}: {_CUT} {counts} (the longest: {characters:,} characters, {tokens:,} tokens). {_MEND}"
        elif prompts.end_alike:
            tokens, alike, low, high = prompts.most
            counts = f"{tokens:,} tokens for each of {alike:,} of {low:,} to {high:,} characters"
            yield f"{caller}: {_CUT} {counts}. {_MEND}"
        if prompts.lack_images and not summary.embedded:
            yield f"{caller}: the server seems to drop images, for it counted no more tokens than the texts have."


def _uncounted(summary: "Summary") -> Iterator[str]:
    for role, usage in summary.usage.items():
        if usage.prompt_tokens is None and not (summary.tests_app and role == "assistant"):
            yield f"{role}: {usage.tokens}, so its cost is not known and prompts that it cuts go unnoticed."
