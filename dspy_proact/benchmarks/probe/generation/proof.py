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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.benchmarks.probe.agents.programs import Single
from dspy_proact.benchmarks.probe.generation.made import MadeItem, MadePerson, MadeTask, TaskProof
from dspy_proact.benchmarks.probe.generation.roles import FindShortcut
from dspy_proact.benchmarks.probe.generation.values import OfferedAction, Shortcut
from dspy_proact.benchmarks.probe.judging import ProbeJudge, questions_of, verdicts
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, graded
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import ProbeView, Solution
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

    def rate(answers: Answers) -> str:
        unscored = f"; {answers.count(None)} could not be graded" if None in answers else ""
        return f"{answers.count(True)} of {len(answers)} answers solve it{unscored}"

    if not most(proof.directed, of=True):
        return f"From all its evidence, {rate(proof.directed)}."
    for without, answers in proof.without.items():
        if most(answers, of=False):
            return f"Without {without}, {rate(answers)}: not all its evidence is needed."
    for alone, answers in proof.alone.items():
        if most(answers, of=False):
            return f"From {alone} alone, {rate(answers)}: one item is enough."
    if proof.shortcut is None:
        return "Whether the adversary solves it without any text could not be graded."
    return "The adversary finds action and bottleneck without any text." if proof.shortcut else ""


class Prover:
    """Proves the tasks of people.

    Args:
        level: `full`, `light` for one answer in place of three, or `none` for drafts.

    Attributes:
        programs: All that it asks.
    """

    def __init__(self, level: Proof):
        self.level = level
        self.solver, self.judge, self.adversary = Single(_SETTINGS), ProbeJudge(), Question(FindShortcut)
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
        return task.model_copy(update={"proof": await _Test(self, attempt, person, task).proof()})

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
class _Test:
    """A task under test."""

    prover: Prover
    attempt: Attempt
    person: MadePerson
    task: MadeTask
    solutions: dict[str, list[Solution]] = field(default_factory=dict[str, list[Solution]])
    """By stage, what each answer names, without what its calls were like; in the order in which they came."""

    async def proof(self) -> TaskProof:
        evidence, samples = self.task.evidence, SAMPLES[self.prover.level]
        proof = TaskProof(
            kept=False, reason="", directed=await self.answers("directed", evidence, samples), without={}, alone={}
        )
        if reason := weakness(proof.model_copy(update={"shortcut": False})):
            return proof.model_copy(update={"reason": reason})
        rest = {item.id: [other for other in evidence if other is not item] for item in evidence}
        single = {item.id: [item] for item in evidence} if len(evidence) > 2 else {}
        without, alone = await all_of([self.less("without", rest), self.less("alone", single)])
        proof = proof.model_copy(update={"without": without, "alone": alone})
        if not (reason := weakness(proof.model_copy(update={"shortcut": False}))):
            fresh, shortcut = await all_of([self.answers("fresh", evidence, samples, TESTER), self.shortcut()])
            decided = self.solutions.get("directed", [])
            repeats = sum(solution in decided for solution in self.solutions.get("fresh", []))
            proof = proof.model_copy(update={"fresh": fresh, "shortcut": shortcut, "repeats": repeats})
            reason = weakness(proof)
        return proof.model_copy(update={"kept": not reason, "reason": reason})

    async def less(self, name: str, shown: Mapping[str, Sequence[MadeItem]]) -> dict[str, Answers]:
        """Answers from less than all the evidence, by the item that is left out or stands alone."""
        numbers = {item.id: number for number, item in enumerate(self.task.evidence, start=1)}

        async def of_item(id_: str, items: Sequence[MadeItem]) -> Answers:
            stage = f"{name} {numbers[id_]}"
            first = await self.answers(stage, items, 1)
            more = SAMPLES[self.prover.level] - 1
            return first if first == (False,) or not more else (*first, *await self.answers(stage, items, more))

        answers = await all_of(of_item(id_, items) for id_, items in shown.items())
        return dict(zip(shown, answers, strict=True))

    async def answers(self, stage: str, items: Sequence[MadeItem], count: int, role: str = SOLVER) -> Answers:
        """Whether each of so many answers from these items solves the task."""
        view, number = self.person.view(self.task, items), self.task.number
        solving = [self.attempt.asking(role, stage, number) for _ in range(count)]
        judging = [self.attempt.asking(JUDGE, f"verdict, {stage}", number) for _ in range(count)]

        async def solved(solver: Asking, judge: Asking) -> bool | None:
            try:
                solution = Solution(**await self.prover.solver.answer_by(solver, **view.task.inputs))
                texts = Solution(**solution.model_dump(include={"evidence", "bottleneck", "action", "parameters"}))
                self.solutions.setdefault(stage, []).append(texts)
                grade = await self.graded(view, solution, judge, "description", "parameters")
            except ContentError:
                return None
            return grade is not None and grade.solved

        return tuple(await all_of(solved(*askings) for askings in zip(solving, judging, strict=True)))

    async def graded(self, view: ProbeView, solution: Solution, judge: Asking, *parts: str) -> ProbeGrade | None:
        """The grade of an answer whose action is right, by the judges of these parts; None where it earns nothing.

        A judge is asked only where the answer has that part and those before are right.
        """
        if solution.action != self.task.action:
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
        person, number = self.person, self.task.number
        items = person.items_of(self.task)
        judge = self.attempt.asking(JUDGE, "verdict, adversary", number)
        inputs = {
            "world": person.world,
            "actions": [OfferedAction(**action.model_dump(exclude={"resolves"})) for action in person.actions],
            "items": [item.listed for item in items],
        }
        try:
            answer = await self.attempt.ask(ADVERSARY, "adversary", self.prover.adversary, turn=number, **inputs)
            named: Shortcut = answer.shortcut
            solution = Solution(
                evidence=tuple(named.evidence), bottleneck=named.bottleneck, action=named.action.strip()
            )
            grade = await self.graded(person.view(self.task, items), solution, judge, "description")
        except (ContentError, RuleError):
            return None
        return grade is not None and grade.identification > 0
