"""Faults of tasks that code sees in their files: ids, fields, the order of shared items, and the right answer.

Each of these checks counts. None is a test, but that a field has to stand on evidence alone so often that it is no
chance.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import comb

from dspy_proact.audit.auditing import part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.metadata import filled, id_parts
from dspy_proact.benchmarks.probe.stated import stands
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.plain_text import shown
from dspy_proact.programs.wording import stands as quoted
from dspy_proact.report.numbers import counted, listed
from dspy_proact.runs import Case

BY_CHANCE = 0.001
"""How probable it may be, over all fields of a corpus, that one stands on evidence alone in each of its tasks."""
_OF_GOLD = {"bottleneck", "checklist", "true_positive_ids", "distractor_ids"}
"""Fields of the output, none of which an input has."""
_HEX = re.compile(r"[0-9a-f]+")
_KINDS = {"email", "event", "calendar", "document", "item"}
"""Words with which ids begin and which say no more than the type does."""
Form = tuple[str, ...]
"""Of an id, part by part, what does not change from id to id: a word, or how long the part is."""


class FileChecks:
    """The checks of tasks that are added one at a time, so that no more than one is held."""

    def __init__(self) -> None:
        self._tasks = list[tuple[str, str, tuple[str, ...]]]()
        """Key, person and ids of items."""
        self._forms = defaultdict[str, Counter[Form]](Counter)
        """By kind, how many ids have each form."""
        self._ids = list[tuple[str, str, str, Form]]()
        """Key, kind, id and its form."""
        self._titled, self._input, self._missing = (list[Finding]() for _ in range(3))
        self._fields = defaultdict[str, list[tuple[str, int, int, int, int]]](list)
        """By field, of each task that has it: the key, evidence with it, all evidence, others with it, all others."""
        self._quoted = self._unlocated = self._elsewhere = self._searched = 0
        self._twins = list[Finding]()

    def add(self, case: Case, view: ProbeView) -> None:
        """Check a task."""
        self._tasks.append((case.key, case.group, tuple(item.id for item in view.items)))
        self._add_ids(case.key, view)
        self._add_fields(case.key, view)
        self._add_values(case.key, view)
        gold = next(action for action in view.actions if action.id == view.gold.action)
        alike = [one for one in view.actions if one.type == gold.type and set(one.required) == set(gold.required)]
        if len(alike) > 1:
            others = [shown(action.id) for action in alike if action.id != gold.id]
            has = "has" if len(others) == 1 else "have"
            problem = f"{listed(others)} {has} the type and the parameters of the right action, {shown(gold.id)}."
            self._twins.append(Finding(key=case.key, problem=problem))

    def _add_ids(self, key: str, view: ProbeView) -> None:
        for item in view.items:
            head, tail = id_parts(item.id)
            parts = [part for part in re.split(r"[^0-9A-Za-z]+", head) if part]
            form = (*(_fixed(part) for part in parts), str(len(tail)))
            self._forms[item.kind][form] += 1
            self._ids.append((key, item.kind, item.id, form))
            title = set(re.findall(r"[a-z]{4,}", ToolRow.of(item).title.lower()))
            if shared := (title & set(re.split(r"[^a-z]+", item.id.lower()))) - _KINDS:
                problem = f"The id {shown(item.id)} has a word of the title, {shown(min(shared))}."
                self._titled.append(Finding(key=key, problem=problem))

    def _add_fields(self, key: str, view: ProbeView) -> None:
        evidence, counts = set(view.gold.evidence), defaultdict[str, list[int]](lambda: [0, 0])
        for item in view.items:
            names = {f"{name}={value}" if value else name for name, value in filled(item.stamps or {})}
            for name in names | set(view.unread.get(item.id, ())):
                counts[name][item.id not in evidence] += 1
        others = len(view.items) - len(evidence)
        for name, (own, rest) in counts.items():
            if (own, rest) != (len(evidence), others):
                self._fields[name].append((key, own, len(evidence), rest, others))
        for name in sorted(_OF_GOLD & set(view.unread.get("", ()))):
            self._input.append(Finding(key=key, problem=f"Its input has {name}, which is of the output."))
        solving = [action.id for action in view.actions if "solves_bottleneck" in view.unread.get(action.id, ())]
        if solving:
            problem = f"Its input says of {shown(solving[0])} that it solves a bottleneck."
            self._input.append(Finding(key=key, problem=problem))

    def _add_values(self, key: str, view: ProbeView) -> None:
        texts = {item.id: _text(ToolRow.of(item)) for item in view.items if item.id in view.gold.evidence}
        joined = "\n\n".join(texts.values())
        for name, value in view.gold.parameters.items():
            support, problem = view.gold.supported_by.get(name), ""
            if support and support.item not in texts:
                self._elsewhere += 1
                problem = f"is supported by {shown(support.item)}, which is no evidence"
            elif support and support.quote:
                self._quoted += 1
                if not quoted(support.quote, texts[support.item]):
                    self._unlocated += 1
                    problem = f"rests on a quote that is not in {shown(support.item)}"
            else:
                self._searched += 1
                if not stands(value, texts[support.item] if support else joined):
                    problem = f"is not in {f'its item, {shown(support.item)}' if support else 'the evidence'}"
            if problem:
                message = f"The right value of {shown(name)}, {shown(value)}, {problem}."
                self._missing.append(Finding(key=key, problem=message))

    def checks(self) -> Iterator[AuditCheck]:
        """What they show of the tasks that were added."""
        yield self._check_ids()
        yield self._check_fields()
        yield self._check_order()
        yield self._check_values()
        tasks, count = len(self._tasks), len(self._twins)
        sentence = f"{count:,} of {counted(tasks, 'task')} {'has' if count == 1 else 'have'} another action with "
        sentence += "the type and the parameters of the right one; code cannot tell whether that resolves it, too."
        yield AuditCheck.reported("actions alike", sentence, tasks, self._twins)

    def _check_ids(self) -> AuditCheck:
        usual = {kind: forms.most_common(1)[0][0] for kind, forms in self._forms.items()}
        odd = defaultdict[tuple[str, str], list[str]](list)
        for key, kind, id_, form in self._ids:
            if form != usual[kind]:
                odd[key, kind].append(id_)
        findings = [
            Finding(
                key=key, problem=f"{counted(len(ids), 'id')} of kind {kind}, such as {shown(ids[0])}, {_other(ids)}."
            )
            for (key, kind), ids in odd.items()
        ]
        total, problems = len(self._ids), list[str]()
        if of_odd := sum(map(len, odd.values())):
            problems.append(f"{of_odd:,} {'has' if of_odd == 1 else 'have'} another form than most of their kind")
        if titled := len(self._titled):
            problems.append(f"{titled:,} {'has' if titled == 1 else 'have'} a word of the item's title")
        sentence = f"All {counted(total, 'id')} have one form by kind, and none has a word of the item's title."
        if problems:
            sentence = f"Of {counted(total, 'id')}, {listed(problems)}."
        findings += self._titled
        return AuditCheck.judged("form of ids", sentence, total, findings)

    def _check_fields(self) -> AuditCheck:
        findings = [*self._input]
        telling = list[str]()
        for name, rows in sorted(self._fields.items()):
            alone = all(own and not rest for _, own, _, rest, _ in rows)
            lacking = all(own < evidence and rest == others for _, own, evidence, rest, others in rows)
            chance = 1.0
            for _, own, evidence, _, others in rows:
                marked = own if alone else evidence - own
                chance *= comb(evidence, marked) / comb(evidence + others, marked)
            shorter = any(name.startswith(one) and self._fields[one] == rows for one in telling)
            if (alone or lacking) and chance * len(self._fields) <= BY_CHANCE and not shorter:
                telling.append(name)
                where = f"in all {len(rows):,} tasks in which {'an item has' if alone else 'one lacks'} it"
                problem = f"{shown(name)} {'stands on' if alone else 'is lacking on'} evidence alone, {where}."
                findings.append(Finding(key="", problem=problem))
        tasks = len(self._tasks)
        tasks_of = f"In {counted(tasks, 'task')}"
        sentence = f"{tasks_of}, no field stands on evidence alone, or is lacking there alone, beyond what is chance."
        if findings:
            tells = "thing tells" if len(findings) == 1 else "things tell"
            sentence = f"{tasks_of}, {len(findings):,} {tells} evidence or the right action by a field."
        return AuditCheck.judged("fields of evidence", sentence, tasks, findings)

    def _check_order(self) -> AuditCheck:
        """Whether the tasks of a person have the items that they share in one order."""
        people, pairs, findings = defaultdict[str, list[tuple[str, tuple[str, ...]]]](list), 0, list[Finding]()
        for key, person, ids in self._tasks:
            people[person].append((key, ids))
        for tasks in people.values():
            for (first, one), (second, other) in pairwise(tasks):
                shared = set(one) & set(other)
                pairs += bool(shared)
                if [id_ for id_ in one if id_ in shared] != [id_ for id_ in other if id_ in shared]:
                    problem = f"The items that it shares with {first} are in another order there."
                    findings.append(Finding(key=second, problem=problem))
        name = "order of shared items"
        if not pairs:
            return AuditCheck.not_tested(name, "no two tasks of a person share an item")
        have = part_of(len(findings), pairs, ("pair of tasks", "pairs of tasks"))
        sentence = f"{have} the shared items in different orders."
        # Another order in the next task tells a program nothing, which sees one.
        return AuditCheck.reported(name, sentence, pairs, findings)

    def _check_values(self) -> AuditCheck:
        missing, parts = len(self._missing), list[str]()
        if quotes := self._quoted + self._elsewhere:
            located = self._quoted - self._unlocated
            parts.append(f"{located:,} of {quotes:,} right values with a quote have that quote in the evidence")
        if self._searched:
            of_search = self._searched - (missing - self._unlocated - self._elsewhere)
            parts.append(
                f"{of_search:,} of {self._searched:,} right values without a quote are in the evidence by their words, "
                "as a date or as a number; others may stand there in other words"
            )
        return AuditCheck(
            name="right values in the evidence",
            state="failed" if self._unlocated or self._elsewhere else "reported" if missing else "passed",
            sentence=f"{'; '.join(parts) or 'The right actions have no parameters'}.",
            tested=self._quoted + self._elsewhere + self._searched,
            findings=tuple(self._missing),
        )


def _fixed(part: str) -> str:
    """A part of an id, if it is a word; else its length: also of letters that are hexadecimal digits."""
    return part if part.isalpha() and not _HEX.fullmatch(part.lower()) else str(len(part))


def _other(ids: list[str]) -> str:
    return "has another form than most of that kind" if len(ids) == 1 else "have another form than most of that kind"


def _text(record: ToolRow) -> str:
    """All of an item that can be read."""
    return "\n".join(filter(None, (record.title, record.people, record.time, record.ends, record.place, record.text)))
