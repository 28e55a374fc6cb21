"""What the datasheet of any corpus that was made has alike, before it is published: Markdown, line by line.

What a person or a model wrote stands in it as code, which no Markdown leaves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.generation.maker import Made
from dspy_proact.plain_text import encodable
from dspy_proact.publish.markdown import canary_of, code, table_lines, unmarked
from dspy_proact.report.made import Repair
from dspy_proact.report.numbers import counted
from dspy_proact.stats import Headline
from dspy_proact.stats.diversity import Common, Lengths
from dspy_proact.stats.likeness import MOST_PAIRS, NearPair

ROWS = 20
"""Rows of a table of reasons."""


def made_datasheet(title: str, summary: Any, sections: Mapping[str, Callable[[Any], Iterable[str]]]) -> str:
    """The datasheet of a corpus: title, what was shown with its caveats, the canary, and the sections.

    Args:
        title: Of what it is a datasheet.
        summary: Of the corpus, with its `headline`, and what was made as `corpus.made`.
        sections: By heading, the lines of each.
    """
    headline: Headline = summary.headline
    lines = [f"# Datasheet: {title}", "", unmarked(headline.text)]
    if headline.caveats:
        lines += ["", *(f"- {unmarked(caveat)}" for caveat in headline.caveats)]
    canary = canary_of(summary.corpus.made.identity)
    lines += ["", f"Benchmark data: it should never be in training data. Canary GUID {canary}"]
    for heading, section in sections.items():
        lines += ["", f"## {heading}", "", *section(summary)]
    return encodable("\n".join(lines) + "\n")


def making_lines(method: str, corpus: Any) -> Iterator[str]:
    """How it was made: the method in sentences, models by role, seed, identity, and the hash of each stage's prompt."""
    yield from (method, "")
    rows = [(role, ", ".join(map(code, names))) for role, names in corpus.models.items()]
    yield from table_lines(("role", "model"), rows)
    yield from ("", f"- Seed: {corpus.made.seed}", f"- Identity: sha256 {corpus.made.identity}")
    yield from (f"- Prompt of {stage}: sha256 {digest}" for stage, digest in corpus.prompts.items())


def diversity_lines(
    common: Mapping[str, Sequence[Common]],
    alike: Mapping[str, Sequence[NearPair]],
    lengths: Mapping[str, Lengths | None],
    item: str,
) -> Iterator[str]:
    """What repeats, from item to `item`: commonest values, near duplicates, lengths."""
    for name, values in common.items():
        rows = [f"{code(value.value, 80)} in {value.count} of {value.total}" for value in values]
        yield f"- Commonest {name}: {', '.join(rows) or f'none in more than one {item}'}"
    yield from (
        f"- Near duplicates among {name} (3-gram Jaccard of .5 or more): "
        f"{'at least ' if len(pairs) == MOST_PAIRS else ''}{counted(len(pairs), 'pair')}"
        for name, pairs in alike.items()
    )
    yield from (
        f"- Words of {name}: median {of.median:g}, quartiles {of.lower:g} and {of.upper:g}, "
        f"from {of.least} to {of.most}, {of.count} texts"
        for name, of in lengths.items()
        if of
    )


def dropped_lines(
    repairs: Sequence[Repair], reasons: Sequence[tuple[str, int]], why: str, counts: str
) -> Iterator[str]:
    """Which rules were broken, and why parts are not in the corpus: a table each, where there is something in it.

    Args:
        repairs: Rules.
        reasons: With how often each is named.
        why: What a reason is of, such as `why a task is not in it`.
        counts: What is counted, such as `tasks`.
    """
    if repairs:
        rows = [(code(row.stage), code(row.rule), row.repeated, row.mended, row.dropped) for row in repairs]
        yield ""
        yield from table_lines(("stage", "rule", "asked again", "mended", "dropped"), rows[:ROWS])
    if reasons:
        yield ""
        yield from table_lines((why, counts), [(code(reason), count) for reason, count in reasons[:ROWS]])


def ending_lines(made: Made) -> Iterator[str]:
    """Who chooses the licence, and the canary."""
    yield (
        "- Whoever publishes this corpus chooses its licence; the terms of the models' providers may limit it. None is "
        "granted here."
    )
    yield f"- Keep the canary GUID with every copy: {canary_of(made.identity)}"
