"""Benchmarks of a person's own with a hidden rule, by which people grade a judge's items or replies must have an act.

`cut`: at one stage, for which the judge has a predictor of its own, people draw the line elsewhere than the judge.
`rule`: they do so wherever a customer mentions one thing; the judge has one predictor. `act`: a reply must have one act
wherever a customer mentions one thing, and no other act; rules grade it, and no judge.
"""

import random
from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import BaseModel

from dspy_proact import Benchmark, Case, CaseSet, HumanGrade, Nouns, People, Scored
from support.planted_rules import (
    ACT_RULES,
    CUT_RULES,
    DAY,
    KIND_RULES,
    LEVELS,
    PERSON,
    STAGES,
    THINGS,
    Rule,
    acts_in,
    graded,
    moved,
)

Task = Literal["cut", "rule", "act"]
TASKS: dict[Task, list[Rule]] = {"cut": CUT_RULES, "rule": KIND_RULES, "act": ACT_RULES}
"""The rules among which each has its hidden one."""
ITEMS, GROUPS, RATERS, SLIP = 60, 10, ("ann", "bob", "eve"), 0.1


class Message(BaseModel, frozen=True):
    stage: str
    message: str


class Reply(BaseModel, frozen=True):
    reply: str


class Remark(BaseModel, frozen=True):
    reason: str


class AnswerMessage(dspy.Signature):
    """Answer a customer's message."""

    stage: str = dspy.InputField()
    message: str = dspy.InputField()
    reply: str = dspy.OutputField()


class GradeReply(dspy.Signature):
    """Grade how definite a shop's reply is."""

    stage: str = dspy.InputField()
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    grade: Literal["POOR", "FAIR", "GOOD"] = dspy.OutputField()


class _Staged(dspy.Module):
    """A judge with a predictor for each stage."""

    def __init__(self):
        super().__init__()
        self.order, self.delivery, self.back = (dspy.Predict(GradeReply) for _ in STAGES)

    def forward(self, stage: str, **inputs: Any) -> dspy.Prediction:
        return self._of(stage)(stage=stage, **inputs)

    async def aforward(self, stage: str, **inputs: Any) -> dspy.Prediction:
        return await self._of(stage).acall(stage=stage, **inputs)

    def _of(self, stage: str) -> dspy.Predict:
        return (self.order, self.delivery, self.back)[STAGES.index(stage)]


class _Shop(Benchmark[Reply, Remark]):
    """Messages and replies of a shop, drawn by a seed."""

    nouns = Nouns(case="message", stratum="stage", group="customer")
    strata = STAGES
    view, answer_type = Message, Reply

    def __init__(self, task: Task, seed: int):
        self.task, rules = task, TASKS[task]
        self.hidden = rules[seed % len(rules)]
        """What a compile is to learn."""
        self._rows, self._seed = [*_drawn(random.Random(seed))], seed

    def read(self, corpus: Any, settings: Any, revision: str | None = None) -> CaseSet:
        needs = [self.hidden.act if self.hidden.mark in message.message else "" for _, message, _ in self._rows]
        cases = [
            Case(f"message-{number:02}", group, message.stage, message, {"needs": needs[number]})
            for number, (group, message, _) in enumerate(self._rows)
        ]
        return CaseSet.of("messages", cases)

    def program(self, settings: Any, start: Any, roles: Any = None) -> Any:
        return dspy.Predict(AnswerMessage)


class PlantedReplies(_Shop):
    """Replies that must have an act."""

    name = "planted-replies"
    about = "Whether a shop's reply has what a customer's message calls for, and nothing more."
    labels = ("FULL", "BUSY", "LACKING")

    async def grade(self, case: Case, answer: Reply, ask: Any) -> Scored[Remark]:
        acts, needed = acts_in(answer.reply), {str(case.meta["needs"])} - {""}
        if needed - acts:
            return Scored(0.0, "LACKING", Remark(reason="it lacks what the message calls for"))
        if acts - needed:
            return Scored(0.5, "BUSY", Remark(reason="it adds what the message does not call for"))
        return Scored(1.0, "FULL", Remark(reason="it is right"))

    def feedback(self, case: Case, answer: Reply, scored: Scored[Remark]) -> str:
        return f"{scored.label}: {scored.detail.reason}."


class PlantedGrades(_Shop):
    """Replies that people have graded, and a judge of them."""

    name = "planted-grades"
    about = "How definite a shop's reply to a customer is, for what the case calls for."
    labels = LEVELS[::-1]

    def __init__(self, task: Task, seed: int):
        super().__init__(task, seed)
        self.people = People(self._grades)

    def _grades(self) -> Iterator[HumanGrade]:
        draw = random.Random(f"people {self._seed}")
        for number, (_, message, reply) in enumerate(self._rows):
            right = self.hidden.after(f"{message}", graded(reply.reply))
            for rater in RATERS:
                grade = moved(right, draw.choice((-1, 1))) if draw.random() < SLIP else right
                yield HumanGrade(f"message-{number:02}", reply, grade, rater)

    def judge(self, settings: Any, start: Any) -> Any:
        return _Staged() if self.task == "cut" else dspy.Predict(GradeReply)

    async def grade(self, case: Case, answer: Reply, ask: Any) -> Scored[Remark]:
        judged = await ask(**self.inputs(case.view), reply=answer.reply)
        return Scored(LEVELS.index(judged.grade) / 2, judged.grade, Remark(reason=""))


def planted(task: Task, seed: int) -> PlantedReplies | PlantedGrades:
    """The benchmark of a task, whose rule and items follow from the seed."""
    return (PlantedReplies if task == "act" else PlantedGrades)(task, seed)


def _drawn(draw: random.Random) -> Iterator[tuple[str, Message, Reply]]:
    """Group, message and reply of every item; a third mention each thing, and each grade is of a third."""
    mentioned = {thing: {*draw.sample(range(ITEMS), ITEMS // 3)} for thing in THINGS}
    ends = ["", f" You hear from us {DAY}.", f" {PERSON} calls you {DAY}."] * (ITEMS // 3)
    draw.shuffle(ends)
    for number, end in enumerate(ends):
        sentences = [mark for thing, (mark, _) in THINGS.items() if number in mentioned[thing]]
        draw.shuffle(sentences)
        message = " ".join([f"This is about order {number}.", *sentences])
        yield (
            f"customer-{number // 3 % GROUPS}",
            Message(stage=STAGES[number % 3], message=message),
            Reply(reply=f"We look into it.{end}"),
        )
