"""The datasheet of a corpus of logs, as Markdown, after Gebru et al., Datasheets for Datasets (arXiv:1803.09010).

It is a function of the answers, and holds nothing that was taken out. What a person or a model wrote stands in it as
code, which no Markdown leaves.
"""

from collections.abc import Iterator

from dspy_proact.benchmarks.proactbench.logs.publishing import LIMITS, METHOD, UNTESTED
from dspy_proact.benchmarks.proactbench.logs.summary import LogSummary
from dspy_proact.publish.made_lines import dropped_lines, ending_lines, made_datasheet, making_lines
from dspy_proact.publish.markdown import block, code, table_lines, unmarked
from dspy_proact.report.numbers import counted


def datasheet(summary: LogSummary) -> str:
    """The datasheet of a corpus of logs."""
    sections = {
        "Motivation": _motivation,
        "Composition": _composition,
        "How it was made": _process,
        "What was left out, and why": _left_out,
        "Uses and limits": _limits,
    }
    return made_datasheet(f"logged conversations of {code(summary.corpus.brief.product.name)}", summary, sections)


def _motivation(summary: LogSummary) -> Iterator[str]:
    yield (
        "To see what users of this product mentioned and its assistant overlooked, and to measure other assistants on "
        "the same turns. It was made with `dspy-proact generate` of logs, by a brief that a person wrote "
        "(`brief.toml`). The product:"
    )
    yield from ("", block(summary.corpus.brief.product.text))


def _composition(summary: LogSummary) -> Iterator[str]:
    log, made = summary.corpus.log, summary.corpus.made
    confirmed = sum(one.is_confirmed for one in summary.triggers)
    yield from table_lines(
        ("what", "count"),
        (
            ("conversations of the log", log.records),
            ("conversations that can be used", len(log.conversations)),
            ("conversations that were read", f"{len(summary.dialogues)} of {made.wanted} wanted"),
            ("conversations with a trigger", len({one.kept.slot for one in summary.triggers})),
            ("triggers", len(summary.triggers)),
            *((f"triggers, {phase}", count) for phase, count in summary.phases.items()),
            ("triggers to which the user came back, as the auditor says", confirmed),
            ("needs that what came after refutes", summary.refuted),
            ("control turns: the user closes, and no need was found before", summary.controls),
        ),
    )
    yield ""
    yield f"- Days of the conversations: {summary.period or 'the log does not say'}"
    yield f"- Language of the rubrics: {code(summary.corpus.brief.dialogue.language)}"
    yield (
        "- Files: `final_dialogues.jsonl` (official layout), `controls.jsonl`, `logged.jsonl` (the responses "
        "that users got), `audits.jsonl`, `items.jsonl` (who wrote what). `redacted.jsonl`, `calls.jsonl` and the page "
        "hold what was taken out, and stay with the owner."
    )
    notes = (f"{counted(note.count, 'conversation')}: {note.reason}." for note in log.notes)
    yield from (f"- {unmarked(note)}" for note in (*notes, *summary.unusual))


def _process(summary: LogSummary) -> Iterator[str]:
    corpus = summary.corpus
    yield from making_lines(METHOD, corpus)
    yield from ("", "### What was taken out", "")
    rows = [(by, code(kind), count) for (by, kind), count in summary.redacted_kinds.items()]
    yield from table_lines(("found by", "kind", "different texts"), rows) if rows else ("Nothing was found.",)


def _left_out(summary: LogSummary) -> Iterator[str]:
    dropped = counted(len(summary.corpus.made.dropped), "attempt")
    yield f"{dropped} at conversations failed; {counted(summary.missing, 'conversation')} could not be read."
    yield from dropped_lines(summary.repairs, summary.rejections, "why a need is no trigger", "times")


def _limits(summary: LogSummary) -> Iterator[str]:
    yield from (f"- {limit}" for limit in (*LIMITS, UNTESTED))
    yield from ending_lines(summary.corpus.made)
