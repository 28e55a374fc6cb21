"""How an audit reads ProactiveAgent's traces: a trace is an item, and each of its turns a case."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem, part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.proactiveagent.corpus import Trace, folders_of, load_corpus, load_traces
from dspy_proact.benchmarks.proactiveagent.turns import ProactiveAgentSettings
from dspy_proact.plain_text import shown
from dspy_proact.stats.likeness import words


def auditing() -> Auditing:
    """How corpora of traces are audited."""
    return Auditing(
        read=_read,
        recognizes=lambda path: any(
            (folder / "splits.json").is_file() for folder in folders_of(str(path), "test_data", "dataset/test_data")
        ),
        nouns=("trace", "traces"),
        beyond="whether a judge sees what a person would accept",
        columns={"kind": ("coding", "writing")},
        checks=_checks,
    )


def _read(spec: str, revision: str | None) -> AuditedCorpus:
    traces = list(load_traces(spec, revision)[0].values())
    items = [
        AuditItem(
            key=trace.name,
            group=trace.name,
            texts={"events": [event.event for event in trace.events]},
            compared={"traces": ["\n".join(event.event for event in trace.events)]},
            cells=[{"kind": trace.kind}] * len(trace.events),
        )
        for trace in traces
    ]
    return AuditedCorpus.of(load_corpus(spec, ProactiveAgentSettings().window, revision), items, traces)


def _checks(corpus: AuditedCorpus) -> Iterator[AuditCheck]:
    traces: list[Trace] = corpus.content
    turns = sum(len(trace.events) for trace in traces)
    back = [
        Finding(key=f"{trace.name}/{number:02}", problem=f"Its time, {now.time}, is before {before.time}.")
        for trace in traces
        for number, (before, now) in enumerate(pairwise(trace.events), start=2)
        if _earlier(now.time, before.time)
    ]
    # The evaluator of the authors goes by the order too, and three of their traces have such a time.
    has = part_of(len(back), turns, ("event", "events"))
    sentence = f"{has} an earlier time than the one before; the order of the file counts."
    yield AuditCheck.reported("order of time", sentence, turns, back)
    repeated = list[Finding]()
    for trace in traces:
        texts = {" ".join(words(event.event)): event.event for event in reversed(trace.events)}
        counts = Counter(" ".join(words(event.event)) for event in trace.events)
        repeated += [
            Finding(key=trace.name, problem=f"{count} events of it say the same, such as {shown(texts[text])}.")
            for text, count in counts.items()
            if count > 1
        ]
    has = part_of(len({finding.key for finding in repeated}), len(traces), ("trace", "traces"))
    yield AuditCheck.reported("repeated events", f"{has} an event more than once.", turns, repeated)
    window = ProactiveAgentSettings().window
    long = [
        Finding(key=trace.name, problem=f"It has {len(trace.events)} events.")
        for trace in traces
        if len(trace.events) > window
    ]
    longer = part_of(len(long), len(traces), ("trace", "traces"), ("is", "are"))
    sentence = f"{longer} longer than the {window} events that agents see by default."
    yield AuditCheck.reported("window", sentence, len(traces), long)


def _earlier(time: str, other: str) -> bool:
    """Whether one time of a recording is before another: as numbers, or else as texts of one length."""
    try:
        return float(time) < float(other)
    except ValueError:
        return len(time) == len(other) and time < other
