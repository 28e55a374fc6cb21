"""Runs as JUnit XML, which continuous integration shows: a suite for each run, a test for each case and epoch.

A case with the best label passes, and any other label is a failure, as in the pass rate; where labels have no order,
all pass. What is unscored is an error, with its reason, and what is pending is skipped. Control cases are left out, as
they are in no score.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import share
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Outcome, RunFolder


def junit_xml(summaries: Sequence[Summary]) -> str:
    """The document of runs or results files; characters that XML lacks, or that a terminal obeys, are escaped.

    It has keys, grades and reasons of judges, but nothing that was sent or answered; of a private or held-back corpus
    no reasons either. Times are those of a case's calls; of files they are not known.
    """
    root, counts = ET.Element("testsuites", name="dspy-proact"), Counter[str]()
    for summary in summaries:
        suite = _suite(summary)
        root.append(suite)
        for name in ("tests", "failures", "errors"):
            counts[name] += int(suite.attrib[name])
    root.attrib |= {name: str(count) for name, count in counts.items()}
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(summary: Summary) -> ET.Element:
    """A run, its score as properties, and its cases."""
    kinds, counts = {"pending": "skipped", "unscored": "errors"}, Counter[str]()
    seconds = _seconds(summary)
    suite = ET.Element("testsuite", name=printable(f"{summary.model_name}{summary.graded_by}"))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(summary):
        ET.SubElement(properties, "property", name=name, value=printable(value))
    for outcome in summary.outcomes:
        passed = outcome.label == summary.labels[0] or (outcome.state == "scored" and not summary.ordered)
        counts["tests"] += 1
        if not passed:
            counts[kinds.get(outcome.state, "failures")] += 1
        suite.append(_test(summary, outcome, passed, seconds))
    suite.attrib |= {name: str(counts[name]) for name in ("tests", "failures", "errors", "skipped")}
    if summary.seconds is not None:
        suite.set("time", f"{summary.seconds:.3f}")
    if summary.manifest:
        suite.set("timestamp", summary.manifest.created)
    return suite


def _properties(summary: Summary) -> Iterator[tuple[str, str]]:
    """What is known of a run, with its score in points of 100."""
    scores = summary.leading
    yield from (("run", summary.path), ("benchmark", summary.benchmark), ("model", summary.model_name))
    yield "judge", summary.judge_name or "none"
    if summary.manifest:
        yield "corpus", summary.manifest.corpus.name
    if summary.ordered:
        yield from (("score", share(scores.weighted.value)), ("strict", share(scores.strict_weighted.value)))
    if summary.ordered and scores.weighted.low is not None and scores.weighted.high is not None:
        yield "interval", f"{share(scores.weighted.low)} to {share(scores.weighted.high)}"
    if summary.usd is not None:
        yield "usd", f"{summary.usd:.4f}"


def _seconds(summary: Summary) -> dict[tuple[str, int], float]:
    """By case and epoch, how long its calls took, one after another; none of a file, such as the log of a run."""
    seconds, folder = defaultdict[tuple[str, int], float](float), RunFolder(summary.path)
    for key, attempts in folder.attempts() if folder.exists else ():
        if attempts:
            seconds[key.case, key.epoch] += sum(call.latency for call in attempts)
    return dict(seconds)


def _test(summary: Summary, outcome: Outcome, passed: bool, seconds: dict[tuple[str, int], float]) -> ET.Element:
    """A case in one epoch."""
    epochs = summary.case_count < len(summary.outcomes)
    test = ET.Element(
        "testcase",
        name=printable(f"{outcome.key} epoch {outcome.epoch}" if epochs else outcome.key),
        classname=printable(f"{summary.benchmark}.{outcome.stratum}"),
    )
    if (taken := seconds.get((outcome.key, outcome.epoch))) is not None:
        test.set("time", f"{taken:.3f}")
    if outcome.state == "pending":
        ET.SubElement(test, "skipped", message="pending: the run is not complete")
    elif outcome.state == "unscored":
        message = ": ".join(filter(None, [outcome.reason, outcome.cause]))
        ET.SubElement(test, "error", type="unscored", message=printable(message))
    else:
        # A grade that has no place in the schema of a passed test stands in its output.
        graded = ET.SubElement(test, "system-out" if passed else "failure")
        if not passed:
            graded.attrib |= {"type": printable(str(outcome.label)), "message": printable(_grade(outcome))}
        grade = _grade(outcome) if summary.ordered else str(outcome.label)
        graded.text = printable("\n".join([*([grade] if passed else []), *_reasons(summary, outcome)]))
    return test


def _grade(outcome: Outcome) -> str:
    return f"{outcome.label}, score {100 * outcome.score:.1f} of 100"


def _reasons(summary: Summary, outcome: Outcome) -> Iterator[str]:
    """What each verdict says, after its judge."""
    corpus, grounds = summary.manifest and summary.manifest.corpus, reporting_of(summary.benchmark).grounds
    if corpus and (corpus.private or corpus.held_back):
        return
    for verdict in outcome.verdicts:
        if verdict.detail and (reasons := grounds(verdict).reasons):
            yield f"{verdict.judge or summary.benchmark}, {verdict.label}: {reasons}"
