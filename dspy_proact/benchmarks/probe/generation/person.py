"""The stages by which a person's tasks come about: bottlenecks, actions, and the evidence of each with its gold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dspy_proact.benchmarks.probe.generation import item_rules, rules
from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief
from dspy_proact.benchmarks.probe.generation.draws import PersonSetting
from dspy_proact.benchmarks.probe.generation.item_rules import Bounds, Matter, text_of
from dspy_proact.benchmarks.probe.generation.made import LostTask, MadeItem, MadeTask
from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    DraftAction,
    DraftBottleneck,
    DraftWorld,
    NumberedItem,
    OfferedAction,
    PlannedItem,
)
from dspy_proact.generation.attempt import Attempt, RuleError, all_of
from dspy_proact.programs.program import Question
from dspy_proact.stats.likeness import near_duplicates

Written = tuple[list[PlannedItem], list[MadeItem]]
"""The plan of a task's evidence, and its items."""


@dataclass(frozen=True)
class Workload:
    """What the tasks of a person are about."""

    bottlenecks: Sequence[DraftBottleneck]
    actions: Sequence[DraftAction]
    """In the order of the files."""
    audits: Mapping[str, ActionAudit]
    """By id of the bottleneck."""

    def matter(self, number: int) -> Matter:
        """That of a task, by its number."""
        one = self.bottlenecks[number - 1]
        return Matter(one, next(action for action in self.actions if action.resolves == one.id))


@dataclass(frozen=True)
class PersonWork:
    """The making of one person's tasks in an attempt."""

    attempt: Attempt
    programs: Mapping[str, Question]
    brief: ProbeBrief
    setting: PersonSetting
    world: DraftWorld

    @property
    def common(self) -> dict[str, Any]:
        """Inputs of every writer."""
        return {"world": self.world, "language": self.brief.tasks.language}

    @property
    def days(self) -> list[str]:
        """The window in which items are written, as roles read it."""
        return [day.isoformat() for day in self.setting.window]

    @property
    def bounds(self) -> Bounds:
        """What all items keep to."""
        return Bounds(self.world, self.setting.window)

    async def bottlenecks(self, reason: str) -> Sequence[DraftBottleneck]:
        """All of the person, audited; a reason says why those before cannot be used."""
        count, window = self.brief.tasks.per_person, self.setting.window

        async def faults(answer: Any) -> Sequence[str]:
            drafts = answer.bottlenecks
            if broken := rules.bottleneck_rules(drafts, count, window):
                return broken
            audited = await self.attempt.ask(
                "auditor",
                "audit of bottlenecks",
                self.programs["audit of bottlenecks"],
                lambda answer: rules.bottleneck_audit_rules(answer.audit, drafts),
                work=work_text(self.brief),
                world=self.world,
                bottlenecks=drafts,
            )
            return rules.bottleneck_findings(audited.audit)

        answer = await self.attempt.ask(
            "planner",
            "bottlenecks",
            self.programs["bottlenecks"],
            faults,
            reason=reason,
            work=work_text(self.brief),
            kinds=self.brief.work.bottlenecks,
            count=count,
            window=self.days,
            **self.common,
        )
        return answer.bottlenecks

    async def workload(self, bottlenecks: Sequence[DraftBottleneck]) -> Workload:
        """With the actions, of which exactly one resolves each bottleneck, as an auditor says who does not know it."""
        count, names = rules.action_count(self.setting.difficulty, len(bottlenecks)), rules.names_of(self.world)
        audits = dict[str, ActionAudit]()

        async def faults(answer: Any) -> Sequence[str]:
            actions: list[DraftAction] = answer.actions
            if broken := rules.action_rules(actions, bottlenecks, names, count):
                return broken
            audited = await all_of(self._audited(*one, actions) for one in enumerate(bottlenecks, start=1))
            audits.update({one.id: audit for one, audit in zip(bottlenecks, audited, strict=True)})
            made_for = {action.resolves: action.id for action in actions}
            return [
                reason
                for one in bottlenecks
                for reason in rules.action_findings(audits[one.id], one.id, made_for[one.id])
            ]

        inputs = {"bottlenecks": bottlenecks, "count": count, **self.common}
        answer = await self.attempt.ask("planner", "actions", self.programs["actions"], faults, **inputs)
        actions = sorted(answer.actions, key=lambda action: self.setting.draw("action", action.id))
        return Workload(bottlenecks, actions, audits)

    async def _audited(self, number: int, bottleneck: DraftBottleneck, actions: Sequence[DraftAction]) -> ActionAudit:
        """Which actions resolve a bottleneck; they stand in an order that is drawn."""
        order = sorted(actions, key=lambda action: self.setting.draw("audit", number, action.id))
        answer = await self.attempt.ask(
            "auditor",
            "audit of actions",
            self.programs["audit of actions"],
            lambda answer: rules.action_audit_rules(answer.audit, actions),
            turn=number,
            world=self.world,
            bottleneck=bottleneck,
            actions=[OfferedAction(**action.model_dump(exclude={"resolves"})) for action in order],
        )
        return answer.audit

    async def task(self, workload: Workload, number: int, reason: str = "") -> MadeTask | LostTask:
        """A task with its evidence; a reason says why the evidence before cannot be used."""
        matter = workload.matter(number)

        async def written(further: str) -> Written:
            return await self._written(matter, number, further or reason)

        try:
            return await self.attempt.mended(written, partial(self._finished, workload, number))
        except RuleError as error:
            return LostTask(number=number, stage=error.stage, reasons=error.reasons)

    async def _written(self, matter: Matter, number: int, reason: str) -> Written:
        kinds, inputs = self.setting.evidence_kinds(number), vars(matter)
        answer = await self.attempt.ask(
            "planner",
            "plan",
            self.programs["plan"],
            lambda answer: item_rules.plan_rules(answer["items"], kinds, matter),
            turn=number,
            reason=reason,
            kinds=kinds,
            world=self.world,
            **inputs,
        )
        plan: list[PlannedItem] = answer["items"]  # its attribute is a method, as of a dict

        async def item(planned: PlannedItem) -> MadeItem:
            name = ("evidence", number, planned.number)
            yours = f"Your item is item {planned.number}; what is against another item leaves it as it is."
            words = self.setting.words(planned.kind, *name)
            answer = await self.attempt.ask(
                "writer",
                f"evidence {planned.number}",
                self.programs["evidence"],
                lambda answer: item_rules.evidence_rules(answer.written, planned, words, self.bounds, matter),
                turn=number,
                reason=reason and f"{reason} {yours}",
                planned=planned,
                others=[other for other in plan if other is not planned],
                difficulty=self.setting.difficulty,
                words=words,
                window=self.days,
                **inputs,
                **self.common,
            )
            written = answer.written
            return MadeItem(**self.setting.stamps(planned.kind, *name), item=written.item, stated=tuple(written.stated))

        return plan, await all_of(item(planned) for planned in plan)

    async def _finished(self, workload: Workload, number: int, written: Written) -> MadeTask:
        """The task of some evidence; raises `RuleError` where that states too little, or too much."""
        (plan, evidence), matter = written, workload.matter(number)
        drafts = {n: item.item for n, item in enumerate(evidence, start=1)}
        items = [NumberedItem(number=n, kind=item.kind, item=item.item) for n, item in enumerate(evidence, 1)]
        if pairs := near_duplicates([text_of(draft) for draft in drafts.values()]):
            raise RuleError("evidence", [f"Items {pairs[0].first + 1} and {pairs[0].second + 1} are nearly the same."])
        inputs = {**vars(matter), "world": self.world, "items": items}
        filled, review = await all_of(
            [
                self.attempt.ask(
                    "planner",
                    "parameters",
                    self.programs["parameters"],
                    lambda answer: item_rules.parameter_rules(answer.parameters, matter.action, drafts),
                    turn=number,
                    **inputs,
                ),
                self.attempt.ask(
                    "auditor",
                    "review of evidence",
                    self.programs["review of evidence"],
                    lambda answer: item_rules.review_rules(answer.review, drafts, matter),
                    turn=number,
                    **inputs,
                ),
            ]
        )
        if reasons := item_rules.review_findings(review.review, matter):
            raise RuleError("review of evidence", reasons)
        return MadeTask(
            number=number,
            bottleneck=matter.bottleneck,
            action=matter.action.id,
            audit=workload.audits[matter.bottleneck.id],
            plan=tuple(plan),
            evidence=tuple(evidence),
            parameters=tuple(filled.parameters),
            review=review.review,
        )


def work_text(brief: ProbeBrief) -> str:
    """The line of work, as roles read it."""
    return f"{brief.work.name}\n{brief.work.text}\n{brief.people.who}"


async def written_world(
    attempt: Attempt, programs: Mapping[str, Question], brief: ProbeBrief, setting: PersonSetting
) -> DraftWorld:
    """The world of a person; raises `RuleError`."""
    answer = await attempt.ask(
        "planner",
        "world",
        programs["world"],
        lambda answer: rules.world_rules(answer.world, setting.difficulty, setting.initials),
        work=work_text(brief),
        work_roles=setting.roles,
        systems=brief.work.systems,
        documents=brief.work.documents,
        persona=setting.persona.text,
        relationships=list(rules.RELATIONSHIPS[setting.difficulty]),
        team=list(rules.TEAM[setting.difficulty]),
        initials=setting.initials,
        today=f"{setting.today:%A %Y-%m-%d}",
        language=brief.tasks.language,
    )
    return answer.world
