"""How an audit reads PROBE's tasks: each is an item, and is checked as its files hold it, not sanitized."""

from collections.abc import Iterator
from pathlib import Path

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.gates import gates_of
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.benchmark import lazily
from dspy_proact.files.archives import Archive
from dspy_proact.plain_text import shown
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Case
from dspy_proact.stats.likeness import MOST_PAIRS, near_duplicates

_INPUT = "_input.json"


def auditing() -> Auditing:
    """How corpora of tasks are audited."""
    return Auditing(
        read=_read,
        recognizes=_recognizes,
        nouns=("task", "tasks"),
        beyond="whether the evidence leads to the right action and nothing less does",
        columns={"difficulty": ("easy", "medium", "hard"), "items of evidence": ()},
        checks=_checks,
        testing=lazily("dspy_proact.benchmarks.probe.task_testing", "testing"),
    )


def _recognizes(path: Path) -> bool:
    """Whether it is a folder of inputs, or of zips of them, or one zip."""
    if path.is_dir() and next(path.rglob(f"*{_INPUT}"), None):
        return True
    zips = sorted(path.glob("*.zip")) if path.is_dir() else [path] if path.suffix == ".zip" else []
    try:
        return any(name.endswith(_INPUT) for file in zips for name in Archive(file, "a zip").sizes)
    except CorpusError:
        return False


def _read(spec: str, revision: str | None) -> AuditedCorpus:
    """Keys and hash are those of the sanitized tasks, which runs record."""
    cases, raw = load_tasks(spec, revision), load_tasks(spec, revision, sanitize=False)
    return AuditedCorpus.of(cases, [_item(case) for case in raw.cases], raw.cases)


def _item(case: Case) -> AuditItem:
    view = case.view_as(ProbeView)
    known = (view.world.person, *(one.name for one in view.world.relationships), view.world.organisation.company_name)
    return AuditItem(
        key=case.key,
        group=case.group,
        texts={
            "bottlenecks": [view.gold.description],
            "actions": [action.description for action in view.actions if action.description],
        },
        compared={"bottlenecks": [view.gold.description]},
        names=list(dict.fromkeys(known)),
        cells=[{"difficulty": case.stratum, "items of evidence": str(len(view.gold.evidence))}],
    )


def _checks(corpus: AuditedCorpus) -> Iterator[AuditCheck]:
    tasks: tuple[Case, ...] = corpus.content
    yield _repeated_items(tasks)
    yield from gates_of(tasks)


def _repeated_items(tasks: tuple[Case, ...]) -> AuditCheck:
    """Items of a task that say the same as another of it: two of evidence, or one and a copy that is none."""
    findings, count = list[Finding](), 0
    for case in tasks:
        view = case.view_as(ProbeView)
        count += len(view.items)
        evidence = set(view.gold.evidence)
        most = MOST_PAIRS - len(findings)
        for pair in near_duplicates([ToolRow.of(item).words for item in view.items], most=most) if most else ():
            one, other = view.items[pair.first].id, view.items[pair.second].id
            kind = "; one of them is evidence" if (one in evidence) != (other in evidence) else ""
            problem = f"{shown(one)} and {shown(other)} share {pair.likeness:.0%} of their three-word sequences{kind}."
            findings.append(Finding(key=case.key, problem=problem))
    least = "At least " if len(findings) == MOST_PAIRS else ""
    pairs = f"{least}{counted(len(findings), 'pair') if findings else 'No pair'} of {counted(count, 'item')} of a task"
    share = "shares" if len(findings) < 2 else "share"
    sentence = f"{pairs} {share} half or more of their three-word sequences."
    return AuditCheck.judged("near duplicates among items", sentence, count, findings)
