"""The items of a person that are no evidence: ordered by code, written in batches, reviewed, and made again.

Batches are asked for side by side. What turns out to be evidence, or a near duplicate, is asked for again in a further
round, among whatever is still missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dspy_proact.benchmarks.probe.generation import item_rules
from dspy_proact.benchmarks.probe.generation.made import MadeDistractor, MadeItem, MadeTask
from dspy_proact.benchmarks.probe.generation.person import PersonWork, Workload
from dspy_proact.benchmarks.probe.generation.values import DistractorOrder, DraftAction, DraftDistractor, NumberedItem
from dspy_proact.generation.attempt import RuleError, all_of
from dspy_proact.stats.likeness import near_duplicates

BATCH = 5
"""Items of one request."""
_ROUNDS = 3
_MOST_MISSING = 0.1
"""Share of them that may be left out where they cannot be made."""
_Drafts = dict[int, DraftDistractor]
_Faults = dict[int, Sequence[str]]
"""Both by number of the order."""


@dataclass(frozen=True)
class DistractorWork:
    """The making of one person's items that are no evidence."""

    person: PersonWork
    workload: Workload
    tasks: Sequence[MadeTask]
    """Whose evidence they resemble."""

    @cached_property
    def evidence(self) -> list[MadeItem]:
        """Of all tasks; the number of a template counts them from 1."""
        return [item for task in self.tasks for item in task.evidence]

    async def made(self) -> list[MadeDistractor]:
        """All, in the order of the files; raises `RuleError` where more than a tenth cannot be made."""
        setting = self.person.setting
        orders = setting.orders(self.person.brief.tasks.distractors, self.tasks)
        made, faults, left, batches = _Drafts(), _Faults(), orders, 0
        for _ in range(_ROUNDS):
            parts = [left[start : start + BATCH] for start in range(0, len(left), BATCH)]
            for fine, wrong in await all_of(self._batch(batches + n, part, faults) for n, part in enumerate(parts, 1)):
                made, faults = made | fine, faults | wrong
            batches += len(parts)
            for number in self._duplicates(made):
                del made[number]
                faults[number] = ["It is nearly the same as another item; write something else."]
            if not (left := [order for order in orders if order.number not in made]):
                break
        if len(left) > _MOST_MISSING * len(orders):
            raise RuleError("distractors", [f"Item {one.number}: {' '.join(faults[one.number])}" for one in left])
        items = [
            MadeDistractor(
                **setting.stamps(order.kind, "distractor", order.number),
                item=draft.item,
                order=order,
                why_not=draft.why_not,
            )
            for order in orders
            if (draft := made.get(order.number))
        ]
        return sorted(items, key=lambda item: setting.draw("order", item.order.number))

    def _duplicates(self, made: _Drafts) -> list[int]:
        """Numbers of those that are nearly the same as evidence or one with a lower number."""
        numbers, before = sorted(made), len(self.evidence)
        items = [*(item.item for item in self.evidence), *(made[number].item for number in numbers)]
        seconds = {pair.second for pair in near_duplicates([item_rules.text_of(item) for item in items])}
        return [numbers[second - before] for second in sorted(seconds) if second >= before]

    async def _batch(
        self, number: int, orders: Sequence[DistractorOrder], before: Mapping[int, Sequence[str]]
    ) -> tuple[_Drafts, _Faults]:
        """Those that may stand, and what is wrong with the others; `before` is what was wrong in earlier rounds."""
        person, known = self.person, {order.number: order for order in orders}
        used = sorted({order.template for order in orders if order.template})
        shown = {n: self.evidence[n - 1] for n in used}

        def misnumbered(answer: Any) -> Sequence[str]:
            if sorted(draft.number for draft in answer.distractors) == sorted(known):
                return ()
            return (f"Write one item for each of the orders {', '.join(map(str, known))}, under its number.",)

        try:
            answer = await person.attempt.ask(
                "writer",
                f"distractors {number}",
                person.programs["distractors"],
                misnumbered,
                reason=" ".join(f"Item {n}: {' '.join(before[n])}" for n in known if n in before),
                bottlenecks=self.workload.bottlenecks,
                orders=orders,
                templates=[NumberedItem(number=n, kind=item.kind, item=item.item) for n, item in shown.items()],
                window=person.days,
                **person.common,
            )
            drafts: _Drafts = {draft.number: draft for draft in answer.distractors}
            wrong: _Faults = {n: reasons for n, draft in drafts.items() if (reasons := self._broken(known[n], draft))}
            drafts = {n: draft for n, draft in drafts.items() if n not in wrong}
            wrong |= await self._findings(number, known, drafts) if drafts else {}
        except RuleError as error:
            return {}, dict.fromkeys(known, error.reasons)
        return {n: draft for n, draft in drafts.items() if n not in wrong}, wrong

    def _broken(self, order: DistractorOrder, draft: DraftDistractor) -> list[str]:
        """What breaks a rule in code."""
        golden = [(self.workload.matter(task.number).action, task.parameters) for task in self.tasks]
        reasons = self.person.bounds.of_item(draft.item, order.kind, order.words)
        return reasons + list(filter(None, [item_rules.distractor_fault(draft.item, golden)]))

    async def _findings(self, number: int, orders: Mapping[int, DistractorOrder], drafts: _Drafts) -> _Faults:
        """What a reviewer finds."""
        bottlenecks, items = self.workload.bottlenecks, {n: draft.item for n, draft in drafts.items()}
        ledger, ids = [entry for one in bottlenecks for entry in one.ledger], [one.id for one in bottlenecks]
        answer = await self.person.attempt.ask(
            "auditor",
            f"review of distractors {number}",
            self.person.programs["review of distractors"],
            lambda answer: item_rules.distractor_review_rules(answer.review, items, ids, ledger),
            world=self.person.world,
            bottlenecks=bottlenecks,
            items=[NumberedItem(number=n, kind=orders[n].kind, item=item) for n, item in items.items()],
        )
        return dict(item_rules.distractor_findings(answer.review, ledger))


def clashes(task: MadeTask, action: DraftAction, others: Sequence[MadeDistractor]) -> bool:
    """Whether items that are no evidence no longer are none beside evidence of a task that was written after them.

    One of them is nearly the same, or has every value that the action needs.
    """
    texts = [item_rules.text_of(item.item) for item in (*task.evidence, *others)]
    mixed = any(pair.first < len(task.evidence) <= pair.second for pair in near_duplicates(texts))
    return mixed or any(item_rules.distractor_fault(item.item, [(action, task.parameters)]) for item in others)
