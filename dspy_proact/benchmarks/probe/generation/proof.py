"""What shows that a task measures something: that its evidence is enough, and nothing less is.

A solver is asked what the published setting asks, of the world, all actions and some items: all the evidence, the
evidence without one item, and one item alone. *Solved* is strictly end to end: some of the evidence named, the whole
bottleneck by the judge, the right action with the right parameters. A task is kept where

- at least 2 of 3 answers from all the evidence solve it,
- no item can be spared and none is enough alone: of the first answer without it, and where that one solves the task, of
  two more, at least 2 of 3 would have to,
- an adversary who sees no text, but ids, kinds, times and lengths, does not come to action and essential facets.

By independent answers this keeps 92 % of tasks of three items that are solved in 9 of 10 from all of them, in 1 of 20
from less, and by the adversary in 1 of 50; 21 % of those that are solved in 3 of 10 from all of them; and 16 % of those
of which one item is spared in 17 of 20. With one answer each (`light`) it is 65, 22 and 10 %. What could not be graded
counts against a task. Whatever is kept is answered afresh by another role, since selection by a noisy test flatters
what is left.

Answers begin side by side, but no two that share the name of a stage and a turn, unless they are begun together, so
that no order of arrival decides a rollout. The turn is the number of the task.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.programs import Single
from dspy_proact.benchmarks.probe.generation.made import MadePerson, MadeTask, TaskProof
from dspy_proact.benchmarks.probe.generation.roles import FindShortcut
from dspy_proact.benchmarks.probe.generation.values import DraftWorld, ListedItem, OfferedAction, Shortcut
from dspy_proact.benchmarks.probe.judging import ProbeJudge, questions_of, verdicts
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, graded
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Action, ProbeView, Solution, World
from dspy_proact.errors import ContentError
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, RuleError, all_of
from dspy_proact.generation.maker import Proof
from dspy_proact.programs.asking import Asking
from dspy_proact.programs.program import Program, Question

SOLVER, TESTER, JUDGE, ADVERSARY = "solver", "tester", "judge", "adversary"
"""Roles that a proof asks."""
SAMPLES = {"full": 3, "light": 1}
"""Answers from all the evidence, and the most from less."""
_SETTINGS = ProbeSettings()
Answers = tuple[bool | None, ...]
"""Whether each of some answers solved a task; None where that could not be graded."""


def most(answers: Answers, of: bool) -> bool:
    """Whether 2 of 3 answers, or the only one, solved a task (`of` true) or may have (`of` false)."""
    count = answers.count(True) + (0 if of else answers.count(None))
    return count >= max(1, len(answers) - 1)


def weakness(proof: TaskProof) -> str:
    """Why a task is not kept, in a sentence; empty where it is."""
    if not most(proof.directed, of=True):
        return f"From all its evidence, {rate(proof.directed)}."
    if spared := next(solved_from_less(proof), ""):
        return spared
    if proof.shortcut is None:
        return "Whether the adversary solves it without any text could not be graded."
    return "The adversary finds action and bottleneck without any text." if proof.shortcut else ""


def solved_from_less(proof: TaskProof) -> Iterator[str]:
    """For each item that can be spared, and for each that is enough alone, a sentence."""
    for without, answers in proof.without.items():
        if most(answers, of=False):
            yield f"Without {without}, {rate(answers)}: not all its evidence is needed."
    for alone, answers in proof.alone.items():
        if most(answers, of=False):
            yield f"From {alone} alone, {rate(answers)}: one item is enough."


def rate(answers: Answers) -> str:
    """How many of some answers solve a task, a clause."""
    unscored = f"; {answers.count(None)} could not be graded" if None in answers else ""
    return f"{answers.count(True)} of {len(answers)} answers solve it{unscored}"


@dataclass(frozen=True)
class TestableTask:
    """What tests need of a task, be it made or read from files."""

    __test__ = False  # no test of pytest's
    number: int
    """Turn of all questions about it."""
    view: ProbeView
    """With all items and the gold answer."""
    world: DraftWorld | World
    """As the adversary sees it, like what follows."""
    actions: Sequence[OfferedAction] | Sequence[Action]
    listed: Sequence[ListedItem]
    """All items, without their texts."""

    @classmethod
    def of(cls, person: MadePerson, task: MadeTask) -> "TestableTask":
        """A task of a person, with all items that its files will have."""
        items = person.items_of(task)
        actions = [OfferedAction(**action.model_dump(exclude={"resolves"})) for action in person.actions]
        listed = [item.listed for item in items]
        return cls(task.number, person.view(task, items), person.world, actions, listed)

    def showing(self, ids: Iterable[str]) -> ProbeView:
        """The task with these items alone, in their order."""
        items = {item.id: item for item in self.view.items}
        return self.view.model_copy(update={"items": tuple(items[id_] for id_ in ids)})


class Prover:
    """Proves the tasks of people.

    Args:
        level: `full`, `light` for one answer in place of three, or `none` for drafts.
        adversary: What the adversary is asked.

    Attributes:
        programs: All that it asks.
    """

    def __init__(self, level: Proof, adversary: type[dspy.Signature] = FindShortcut):
        self.level = level
        self.solver, self.judge, self.adversary = Single(_SETTINGS), ProbeJudge(), Question(adversary)
        self.programs = (self.solver, self.judge, self.adversary)

    async def proved(self, attempt: Attempt, person: MadePerson, task: MadeTask) -> MadeTask:
        """The task with what was shown of it, kept or not.

        Args:
            attempt: Whose roles are asked: `solver`, `tester`, `judge` and `adversary`.
            person: With all items that the task's files will have.
            task: Without a proof.

        Raises:
            ProviderError: A model cannot be reached.
        """
        if self.level == "none":
            return task
        return task.model_copy(update={"proof": await TaskTest(self, attempt, TestableTask.of(person, task)).proof()})

    def forecast(
        self, tasks: float, evidence: float, *, items: float = 75, actions: float = 25, words: float = 350
    ) -> list[StageForecast]:
        """The calls for a person of so many tasks, all of them kept, each of so much evidence.

        Args:
            tasks: Of the person.
            evidence: Items of one task.
            items: All that a task has.
            actions: That can be taken.
            words: Of one item's text.
        """
        if self.level == "none":
            return []
        answers, less = tasks * SAMPLES[self.level], tasks * evidence * (2 if evidence > 2 else 1)
        known, item = _WORLD + _ACTION * actions, 45 + 1.5 * words
        common = _instruction(self.solver) + known
        solving, judging = common + evidence * item, 250 + _instruction(self.judge.identification)
        looking = _instruction(self.adversary) + known + 26 * items
        # Name, role, calls, those of them in a row, tokens of a request, and of the answer.
        rows = [
            ("directed", SOLVER, answers, 1, solving, 260),
            ("from less", SOLVER, less, 1, common + evidence / 2 * item, 240),
            ("fresh", TESTER, answers, 1, solving, 260),
            ("verdicts of directed and fresh", JUDGE, 4 * answers, 4, judging, 200),
            ("verdicts of from less", JUDGE, less * 0.6, 1, judging, 200),
            ("adversary", ADVERSARY, tasks, 1, looking, 160),
            ("verdicts of the adversary", JUDGE, tasks / 4, 1, judging, 200),
        ]
        return [
            StageForecast(name, role, calls, round(prompt), completion, in_a_row=row)
            for name, role, calls, row, prompt, completion in rows
        ]


_WORLD, _ACTION, _CHARACTERS_A_TOKEN = 900, 80, 4
"""Tokens of a person's world and of an action, as is assumed; of a token, its characters."""


def _instruction(program: Program) -> int:
    """Tokens of a program's request without what its inputs say."""
    signature: Any = program.predictors()[0].signature
    messages = program.messages(dict.fromkeys(signature.input_fields, ""))
    return sum(len(message["content"]) for message in messages) // _CHARACTERS_A_TOKEN


@dataclass(frozen=True)
class TaskTest:
    """A task under test."""

    prover: Prover
    attempt: Attempt
    task: TestableTask
    solutions: dict[str, list[Solution]] = field(default_factory=dict[str, list[Solution]])
    """By stage, what each answer names, without what its calls were like; in the order in which they came."""

    async def proof(self) -> TaskProof:
        """What was shown, up to the first test that the task does not pass, and of a task that is kept by all."""
        proof = TaskProof(kept=False, reason="", directed=await self.directed(), without={}, alone={})
        if reason := weakness(proof.model_copy(update={"shortcut": False})):
            return proof.model_copy(update={"reason": reason})
        without, alone = await self.from_less()
        proof = proof.model_copy(update={"without": without, "alone": alone})
        if not (reason := weakness(proof.model_copy(update={"shortcut": False}))):
            fresh, shortcut = await all_of([self.directed("fresh", TESTER), self.shortcut()])
            decided = self.solutions.get("directed", [])
            repeats = sum(solution in decided for solution in self.solutions.get("fresh", []))
            proof = proof.model_copy(update={"fresh": fresh, "shortcut": shortcut, "repeats": repeats})
            reason = weakness(proof)
        return proof.model_copy(update={"kept": not reason, "reason": reason})

    async def directed(self, stage: str = "directed", role: str = SOLVER) -> Answers:
        """Answers from all the evidence and nothing else."""
        return await self.answers(stage, self.task.view.gold.evidence, SAMPLES[self.prover.level], role)

    async def from_less(self) -> list[dict[str, Answers]]:
        """Answers without an item of the evidence, and from one alone, by its id; see `TaskProof`."""
        evidence = self.task.view.gold.evidence
        rest = {id_: [other for other in evidence if other != id_] for id_ in evidence}
        single = {id_: [id_] for id_ in evidence} if len(evidence) > 2 else {}
        return await all_of([self._less("without", rest), self._less("alone", single)])

    async def _less(self, name: str, shown: Mapping[str, Sequence[str]]) -> dict[str, Answers]:
        """Answers from less than all the evidence, by the item that is left out or stands alone."""

        async def of_item(number: int, ids: Sequence[str]) -> Answers:
            stage = f"{name} {number}"
            first = await self.answers(stage, ids, 1)
            more = SAMPLES[self.prover.level] - 1
            return first if first == (False,) or not more else (*first, *await self.answers(stage, ids, more))

        answers = await all_of(of_item(number, ids) for number, ids in enumerate(shown.values(), start=1))
        return dict(zip(shown, answers, strict=True))

    async def answers(self, stage: str, ids: Iterable[str], count: int, role: str = SOLVER) -> Answers:
        """Whether each of so many answers from the items of these ids solves the task."""
        view, number = self.task.showing(ids), self.task.number
        solving = [self.attempt.asking(role, stage, number) for _ in range(count)]
        judging = [self.attempt.asking(JUDGE, f"verdict, {stage}", number) for _ in range(count)]

        async def solved(solver: Asking, judge: Asking) -> bool | None:
            try:
                solution = Solution(**await self.prover.solver.answer_by(solver, **view.task.inputs))
                texts = Solution(**solution.model_dump(include={"evidence", "bottleneck", "action", "parameters"}))
                self.solutions.setdefault(stage, []).append(texts)
                grade = await self._graded(view, solution, judge, "description", "parameters")
            except ContentError:
                return None
            return grade is not None and grade.solved

        return tuple(await all_of(solved(*askings) for askings in zip(solving, judging, strict=True)))

    async def _graded(self, view: ProbeView, solution: Solution, judge: Asking, *parts: str) -> ProbeGrade | None:
        """The grade of an answer whose action is right, by the judges of these parts; None where it earns nothing.

        A judge is asked only where the answer has that part and those before are right.
        """
        if solution.action != view.gold.action:
            return None
        questions, predictions, grade = questions_of(view, solution, _SETTINGS), {}, None
        for part in parts:
            if part not in questions:
                return None
            predictions[part] = await self.prover.judge.answer_by(judge, **questions[part])
            grade = graded(view, solution, _SETTINGS, *verdicts(predictions)).detail
            if grade.identification < 1:
                break
        return grade

    async def shortcut(self) -> bool | None:
        """Whether the adversary names the action and the essential facets; None where that could not be graded."""
        task = self.task
        judge = self.attempt.asking(JUDGE, "verdict, adversary", task.number)
        inputs = {"world": task.world, "actions": list(task.actions), "items": list(task.listed)}
        try:
            answer = await self.attempt.ask(ADVERSARY, "adversary", self.prover.adversary, turn=task.number, **inputs)
            named: Shortcut = answer.shortcut
            solution = Solution(
                evidence=tuple(named.evidence), bottleneck=named.bottleneck, action=named.action.strip()
            )
            grade = await self._graded(task.view, solution, judge, "description")
        except (ContentError, RuleError):
            return None
        return grade is not None and grade.identification > 0
