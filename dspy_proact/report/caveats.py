"""What makes the numbers of a run doubtful as a whole: it stands right below the headline, in every report."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dspy_proact.calls import Usage
from dspy_proact.report.numbers import counted

if TYPE_CHECKING:
    from dspy_proact.report.summary import Summary

_FEWEST = 4
"""Verdicts of a judge by which it can be doubted."""
_CUT = "the server seems to cut prompts. It counted"
_MEND = "Give it a longer context; with Ollama num_ctx of the model, or OLLAMA_CONTEXT_LENGTH of the server."


def caveats(summary: "Summary") -> list[str]:
    """Sentences on a judge that does not quote, and on servers that cut prompts, drop images or count nothing."""
    return [*_unquoted(summary), *_prompts(summary), *_uncounted(summary.usage)]


def _unquoted(summary: "Summary") -> Iterator[str]:
    better = summary.labels[:-1]
    for judge in summary.judges:
        own = [verdict for verdict in summary.verdicts if verdict.judge == judge and verdict.label in better]
        known = [verdict.verified for verdict in own if verdict.verified is not None]
        if len(known) >= _FEWEST and 2 * sum(known) < len(known):
            share = f"{sum(known):,} of its {counted(len(known), 'verdict')} of {' or '.join(better)}"
            yield f"{summary.judge_names[judge]} quotes what is not there: {share} quote words found in the response."


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


def _uncounted(by_role: Mapping[str, Usage]) -> Iterator[str]:
    for role, usage in by_role.items():
        if usage.prompt_tokens is None:
            yield f"{role}: {usage.tokens}, so its cost is not known and prompts that it cuts go unnoticed."
