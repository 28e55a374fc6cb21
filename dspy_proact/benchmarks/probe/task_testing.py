"""Tests by models of the tasks of any corpus of PROBE: a slot of the engine is one task.

They ask what the proof of a made task asks (`generation.proof`), and an auditor which of its actions resolve it.
Nothing is selected by the answers, so that they need no second sample; and all tests are made of every task, so that no
share is of a part that another test has chosen. Solvers see sanitized tasks, as an agent does. The adversary looks for
traces, and sees ids, order, times and lengths as the files hold them.

Names, order and types of the fields of signatures are prompt text, and so are their values'.
"""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import dspy

from dspy_proact.audit.auditing import AuditedCorpus, ModelTests
from dspy_proact.audit.testing import TESTS, CaseAtSlot, likeness_text, tests_of
from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.corpus import sanitized
from dspy_proact.benchmarks.probe.generation.made import TaskProof
from dspy_proact.benchmarks.probe.generation.making import ROLES
from dspy_proact.benchmarks.probe.generation.proof import SAMPLES, Prover, TaskTest, TestableTask, weakness
from dspy_proact.benchmarks.probe.generation.roles import prompt
from dspy_proact.benchmarks.probe.generation.rules import unknown_ids
from dspy_proact.benchmarks.probe.generation.values import ActionAudit, ListedItem, Shortcut
from dspy_proact.benchmarks.probe.judging import Expected, questions_of
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Action, Document, Email, Event, Item, ProbeView, Solution, World
from dspy_proact.benchmarks.probe.tested_task import TestedTask, tests_shown
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, RuleError, all_of
from dspy_proact.generation.maker import Made, Making, Proof, joint_fingerprint
from dspy_proact.kept.log import as_text
from dspy_proact.models import Role
from dspy_proact.programs.program import Program, Question
from dspy_proact.runs import Case, seeded_order
from dspy_proact.stats import Headline

_MEASURED = 8
"""Tasks whose requests are measured for a forecast, the first ones."""
_CHARACTERS_A_TOKEN = 4


class FindTaskShortcut(dspy.Signature):
    __doc__ = prompt("find_shortcut")

    world: World = dspy.InputField()
    actions: list[Action] = dspy.InputField()
    items: list[ListedItem] = dspy.InputField(desc="All items, without their texts")
    shortcut: Shortcut = dspy.OutputField()


class AuditTaskActions(dspy.Signature):
    __doc__ = prompt("audit_task_actions")

    world: World = dspy.InputField()
    bottleneck: Expected = dspy.InputField()
    items: list[Item] = dspy.InputField(desc="What shows it")
    actions: list[Action] = dspy.InputField()
    audit: ActionAudit = dspy.OutputField()


def testing(corpus: AuditedCorpus) -> Making:
    """How the tasks of a corpus are tested; of several, those of a seeded order are taken first."""
    cases: Sequence[Case] = corpus.content
    return tests_of(corpus, lambda proof: TaskTests(cases, proof), ("task", "tasks"), len(cases))


class TaskTests:
    """Tests tasks, as `generation.Maker` asks for.

    Args:
        cases: Of the corpus, as its files hold them.
        proof: With `full` three answers from all the evidence, with `light` one; `none` only audits actions.
    """

    def __init__(self, cases: Sequence[Case], proof: Proof):
        self.proof: Proof = proof
        self._cases = {case.key: case for case in seeded_order(cases)}
        self.auditing, self.prover = Question(AuditTaskActions), Prover(proof, FindTaskShortcut)

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives."""
        return {name: ROLES[name] for name in ("solver", "judge", "adversary", "auditor")}

    @property
    def usual(self) -> Mapping[str, str]:
        """Whoever audits looks for shortcuts."""
        return {"adversary": "auditor"}

    async def begin(self, attempt: Attempt) -> CaseAtSlot:
        """The task of the slot."""
        return CaseAtSlot(key=[*self._cases][attempt.slot - 1])

    def text(self, made: CaseAtSlot | TestedTask) -> str:
        """What no other task has."""
        return likeness_text(made.key)

    async def finish(self, attempt: Attempt, begun: CaseAtSlot) -> TestedTask:
        """What each test showed; what could not be graded or audited is said to be so."""
        case = self._cases[begun.key]
        raw, task = case.view_as(ProbeView), testable(case)
        tested = TestedTask(key=case.key, person=case.group, action=raw.gold.action)
        if self.proof == "none":
            return await self._audited(attempt, task, tested)
        test = TaskTest(self.prover, attempt, task)
        works = [self._audited(attempt, task, tested), test.directed(), test.from_less(), test.shortcut()]
        shown: list[Any] = await all_of(works)
        tested, directed, (without, alone), shortcut = shown
        ids = dict(zip(task.view.gold.evidence, raw.gold.evidence, strict=True))
        proof = TaskProof(
            kept=False,
            reason="",
            directed=directed,
            without={ids[id_]: answers for id_, answers in without.items()},
            alone={ids[id_]: answers for id_, answers in alone.items()},
            shortcut=shortcut,
        )
        reason = weakness(proof)
        return tested.model_copy(update={"proof": proof.model_copy(update={"kept": not reason, "reason": reason})})

    async def _audited(self, attempt: Attempt, task: TestableTask, tested: TestedTask) -> TestedTask:
        """With what an auditor says of its actions."""
        known = [action.id for action in task.view.actions]
        try:
            answer = await attempt.ask(
                "auditor",
                "audit of actions",
                self.auditing,
                lambda answer: unknown_ids(answer.audit.resolving, known, "action"),
                **_audit_inputs(task),
            )
        except RuleError as error:
            reason = f"No audit of its actions could be used. {' '.join(error.reasons)}"
            return tested.model_copy(update={"reason": reason})
        return tested.model_copy(update={"audit": answer.audit})

    def key(self, item: TestedTask) -> str:
        """That of its case."""
        return item.key

    def fingerprint(self) -> str:
        """Of what its roles are told."""
        return joint_fingerprint((self.auditing, *self.prover.programs))

    def forecast(self) -> Sequence[StageForecast]:
        """The calls for a task: requests as long as those of the first tasks, answers of assumed lengths."""
        tasks = [testable(case) for case in [*self._cases.values()][:_MEASURED]]

        def tokens(program: Program, requests: Sequence[Mapping[str, Any]]) -> int:
            lengths = [sum(len(one["content"]) for one in program.messages(inputs)) for inputs in requests]
            return round(mean(lengths) / _CHARACTERS_A_TOKEN) if lengths else 0

        audit = StageForecast("audit of actions", "auditor", 1, tokens(self.auditing, [*map(_audit_inputs, tasks)]), 60)
        if self.proof == "none":
            return [audit]
        prover, samples = self.prover, SAMPLES[self.proof]
        evidence = [task.view.gold.evidence for task in tasks]
        less = [
            task.showing(ids).inputs
            for task, all_of_it in zip(tasks, evidence, strict=True)
            for id_ in all_of_it
            for ids in ([other for other in all_of_it if other != id_], [id_] if len(all_of_it) > 2 else None)
            if ids is not None
        ]
        directed = [task.showing(ids).inputs for task, ids in zip(tasks, evidence, strict=True)]
        looking = [{"world": one.world, "actions": one.actions, "items": one.listed} for one in tasks]
        judging = tokens(prover.judge, [question for task in tasks for question in _questions(task.view)])
        from_less = len(less) / len(tasks)
        # Of answers from less, about one in three names the right action, and not all of these the bottleneck.
        return [
            audit,
            StageForecast("directed", "solver", samples, tokens(prover.solver, directed), 260, 1),
            StageForecast("from less", "solver", from_less, tokens(prover.solver, less), 240, 0),
            StageForecast("verdicts of directed", "judge", 2 * samples, judging, 200, 2),
            StageForecast("verdicts of from less", "judge", from_less * 0.6, judging, 200, 0),
            StageForecast("adversary", "adversary", 1, tokens(prover.adversary, looking), 160, 0),
            StageForecast("verdicts of the adversary", "judge", 1 / 4, judging, 200, 0),
        ]

    def headline(self, made: Made) -> Headline:
        """What the tests show, a clause."""
        return Headline(self.tests(made, {}).shown or "Too few tasks could be tested.")

    def files(self, made: Made) -> Mapping[str, str]:
        """What was shown of each task."""
        return {TESTS: "".join(f"{as_text(kept.item)}\n" for kept in made.kept)}

    def tests(self, made: Made, names: Mapping[str, str]) -> ModelTests:
        """The checks that follow, and what they show; `names` are the models' by role."""
        of_slots: list[TestedTask] = [kept.item for kept in made.kept]
        tasks = sorted(of_slots, key=lambda task: task.key)  # as the corpus has them
        solver, auditor = (names.get(role, f"the {role}") for role in ("solver", "auditor"))
        return tests_shown(tasks, len(self._cases), solver, auditor)


def testable(case: Case) -> TestableTask:
    """A task of files: sanitized for solvers, and for the adversary as they hold it."""
    raw = case.view_as(ProbeView)
    # Another case than the one that reads its files whenever its view is used.
    view = sanitized(Case(case.key, case.group, case.stratum, raw)).view_as(ProbeView)
    return TestableTask(0, view, raw.world, raw.actions, [_listed(item) for item in raw.items])


def _listed(item: Item) -> ListedItem:
    """An item as the adversary sees it."""
    row, people = ToolRow.of(item), set[str]()
    match item:
        case Email():
            people = {item.sender, *item.to, *item.cc}
        case Event():
            people = set(item.attendees)
        case Document():
            pass  # its author, if any, is not in the file
    time = row.time or str((item.stamps or {}).get("created_at", ""))
    return ListedItem(id=item.id, kind=item.kind, time=time, words=len(row.text.split()), people=len(people - {""}))


def _audit_inputs(task: TestableTask) -> dict[str, Any]:
    view = task.view
    return {
        "world": view.world,
        "bottleneck": Expected(description=view.gold.description, facets=view.gold.facets),
        "items": list(task.showing(view.gold.evidence).items),
        "actions": list(view.actions),
    }


def _questions(view: ProbeView) -> list[dict[str, Any]]:
    """What judges are asked of the right answer."""
    gold = view.gold
    right = Solution(bottleneck=gold.description, action=gold.action, parameters=gold.parameters)
    return [*questions_of(view, right, ProbeSettings()).values()]
