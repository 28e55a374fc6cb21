"""How an audit reads ProactiveBench's samples: each is an item with options, a right one, and images."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem, part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.proactivebench.benchmark import ProactiveBench
from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS, Entry
from dspy_proact.benchmarks.proactivebench.lettered import plain
from dspy_proact.benchmarks.proactivebench.trajectory import Sample
from dspy_proact.evidence import words_of
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Case

_ENOUGH = 10
"""Fewest samples of an environment whose answers are counted."""


def auditing() -> Auditing:
    """How corpora of samples are audited."""
    return Auditing(
        read=_read,
        recognizes=lambda path: any(
            (path / f"{world.loader}_preprocessed.jsonl").is_file() for world in WORLDS.values()
        ),
        nouns=("sample", "samples"),
        beyond="whether the images show what is asked",
        columns={"environment": NAMES},
        checks=_checks,
    )


def _read(spec: str, revision: str | None) -> AuditedCorpus:
    declared = ProactiveBench()
    cases = declared.read(spec, declared.settings_type(), revision)
    items = [
        AuditItem(
            key=case.key,
            group=case.group,
            texts={"questions": [entry.prompt], "options": [*entry.options, *entry.categories]},
            cells=[{"environment": case.stratum}],
        )
        for case, entry in _entries(cases.cases)
    ]
    return AuditedCorpus.of(cases, items)


def _entries(cases: tuple[Case, ...]) -> Iterator[tuple[Case, Entry]]:
    return ((case, case.view_as(Sample).entry) for case in cases)


def _checks(corpus: AuditedCorpus) -> Iterator[AuditCheck]:
    entries = list(_entries(corpus.content.cases))
    yield _twins(entries)
    yield _revealed(entries)
    yield _answer_positions(entries)
    yield _commonest(entries)


def _twins(entries: list[tuple[Case, Entry]]) -> AuditCheck:
    """Samples that show the same image and ask the same."""
    first, findings = dict[object, str](), list[Finding]()
    for case, entry in entries:
        shown = case.stratum, entry.prompt, entry.image_template, entry.first_image, entry.crop
        if (before := first.setdefault(shown, case.key)) != case.key:
            findings.append(Finding(key=case.key, problem=f"It asks the same about the same image as {before}."))
    ask = part_of(len(findings), len(entries), ("sample", "samples"), ("asks", "ask"))
    return AuditCheck.judged(
        "repeated samples", f"{ask} the same about the same image as another.", len(entries), findings
    )


def _revealed(entries: list[tuple[Case, Entry]]) -> AuditCheck:
    """Questions that hold the right answer and no other category."""
    findings = list[Finding]()
    for case, entry in entries:
        question = f" {' '.join(words_of(entry.prompt))} "
        held = [name for name in entry.categories if words_of(name) and f" {' '.join(words_of(name))} " in question]
        if held == [entry.answer]:
            findings.append(Finding(key=case.key, problem="Its question holds the right answer and no other."))
    hold = part_of(len(findings), len(entries), ("question", "questions"), ("holds", "hold"))
    return AuditCheck.judged(
        "answers in questions", f"{hold} the right answer and no other category.", len(entries), findings
    )


def _answer_positions(entries: list[tuple[Case, Entry]]) -> AuditCheck:
    """Environments whose right answer is always at one position; programs see the options in another order."""
    positions = defaultdict[str, Counter[int]](Counter)
    for case, entry in entries:
        positions[case.stratum][entry.categories.index(entry.answer)] += 1
    tested = {name: of for name, of in positions.items() if of.total() >= _ENOUGH}
    findings = tuple(
        Finding(key="", problem=f"In {name} the right answer is always number {next(iter(of)) + 1} of the categories.")
        for name, of in tested.items()
        if len(of) == 1
    )
    if not tested:
        return AuditCheck.not_tested("position of the answer", f"no environment has {_ENOUGH} samples")
    sentence = (
        f"In {len(findings) or 'none'} of {counted(len(tested), 'environment')} with {_ENOUGH} samples or more, the "
        "right answer is always at one position in the file; programs see the options in another order."
    )
    return AuditCheck.reported("position of the answer", sentence, len(tested), findings)


def _commonest(entries: list[tuple[Case, Entry]]) -> AuditCheck:
    """How often the commonest answer of an environment is right: what a program reaches that sees no image."""
    answers = defaultdict[str, Counter[str]](Counter)
    for case, entry in entries:
        answers[case.stratum][plain(entry.answer)] += 1
    shares = {name: of.most_common(1)[0][1] / of.total() for name, of in answers.items() if of.total() >= _ENOUGH}
    if not shares:
        return AuditCheck.not_tested("commonest answer", f"no environment has {_ENOUGH} samples")
    name = max(shares, key=lambda name: shares[name])
    sentence = (
        f"Always giving the commonest answer is right most often in {name}: in {shares[name]:.0%} of its samples."
    )
    return AuditCheck.reported("commonest answer", sentence, len(entries))
