"""How an audit reads ProAgentBench's recordings: a person is an item, and the moments of that person its cases."""

from collections import defaultdict
from collections.abc import Iterator

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem, part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.proagentbench.corpus import DATABASE, load_corpus
from dspy_proact.benchmarks.proagentbench.moments import INTENTIONS, MomentView, ProAgentBenchSettings
from dspy_proact.errors import CorpusError
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Case
from dspy_proact.stats.likeness import grams, words

_LEAK = 0.5
"""A query is a finding if this share of its three-word sequences, or more, is in what is shown before it."""


def auditing() -> Auditing:
    """How corpora of recordings are audited."""
    return Auditing(
        read=_read,
        recognizes=lambda path: path.is_dir() and any(path.glob(f"*/{DATABASE}")),
        nouns=("person", "people"),
        beyond="whether help was wanted where nobody sought it",
        columns={"part": ("earlier", "later"), "help": ("sought", "not sought"), "intention": INTENTIONS},
        checks=_checks,
    )


def _read(spec: str, revision: str | None) -> AuditedCorpus:
    if revision is not None:
        raise CorpusError("a folder has no revisions; leave the revision out", source=spec)
    cases, people = load_corpus(spec, ProAgentBenchSettings(strict=False)), defaultdict[str, list[Case]](list)
    for case in cases.cases:
        people[case.group].append(case)
    return AuditedCorpus.of(cases, [_item(person, of) for person, of in people.items()])


def _item(person: str, cases: list[Case]) -> AuditItem:
    summaries = dict[str, None]()
    for case in cases:
        view = case.view_as(MomentView)
        summaries |= dict.fromkeys(activity.summary for activity in view.activity if activity.summary)
    queries = [query for case in cases if (query := case.view_as(MomentView).truth.query)]
    return AuditItem(
        key=person,
        group=person,
        texts={"summaries": list(summaries), "queries": queries},
        compared={"recordings": ["\n".join(summaries)], "queries": queries},
        cells=[_cell(case) for case in cases],
    )


def _cell(case: Case) -> dict[str, str]:
    truth = case.view_as(MomentView).truth
    cell = {"part": case.stratum, "help": "sought" if truth.wanted else "not sought"}
    return cell | ({"intention": truth.intention} if truth.intention else {})


def _checks(corpus: AuditedCorpus) -> Iterator[AuditCheck]:
    cases: tuple[Case, ...] = corpus.content.cases
    wanted = [case for case in cases if case.view_as(MomentView).truth.wanted]
    yield _labels(wanted)
    yield _queries(wanted)
    share = len(wanted) / len(cases)
    sought = f"Help was sought at {len(wanted)} of {counted(len(cases), 'moment')}, {share:.0%}"
    sentence = f"{sought}; a program that always helps is right as often."
    yield AuditCheck.reported("balance", sentence, len(cases))


def _labels(wanted: list[Case]) -> AuditCheck:
    """Moments with help whose intention or query is not known, so that measures of it leave them out."""
    findings = list[Finding]()
    for case in wanted:
        truth = case.view_as(MomentView).truth
        missing = [name for name, there in (("intention", truth.intention), ("query", truth.query)) if not there]
        findings += [Finding(key=case.key, problem=f"Its {name} is not known.") for name in missing]
    known = len(wanted) - len({finding.key for finding in findings})
    sentence = (
        f"Intention and query are known for {known} of {counted(len(wanted), 'moment')} with help; the "
        "others are left out of the measures that need them."
    )
    return AuditCheck(
        name="intentions and queries",
        state="reported" if findings else "passed",
        sentence=sentence,
        tested=len(wanted),
        findings=tuple(findings),
    )


def _queries(wanted: list[Case]) -> AuditCheck:
    """Moments at which what the person asks is shown before it is asked."""
    findings, tested = list[Finding](), 0
    for case in wanted:
        view = case.view_as(MomentView)
        if len(words(view.truth.query)) < 3:
            continue
        tested += 1
        shown = "\n".join([*(activity.summary for activity in view.activity), view.current.window_title])
        query = grams(view.truth.query)
        if len(query & grams(shown)) / len(query) >= _LEAK:
            findings.append(Finding(key=case.key, problem="What is shown before it holds half of the query or more."))
    if not tested:
        return AuditCheck.not_tested("queries in what is shown", "no query of three words or more is known")
    verbs = "has half or more of its", "have half or more of their"
    repeat = part_of(len(findings), tested, ("query", "queries"), verbs)
    return AuditCheck.reported(
        "queries in what is shown", f"{repeat} three-word sequences in what is shown before.", tested, findings
    )
