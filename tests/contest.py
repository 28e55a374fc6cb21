"""A benchmark in which a model thinks about a riddle and then guesses, and which grades by itself.

Nothing outside of this file is written for it: what the driver and reports do with it they do with any benchmark.
"""

import json
from collections.abc import Sequence

import dspy
from server import Answer, Sent
from toy import Riddle

from dspy_proact import ASSISTANT, JUDGE, Gate, ModelSpec, open_model
from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import ContentError
from dspy_proact.models import Model
from dspy_proact.programs import FencedJSON
from dspy_proact.programs.asking import ask
from dspy_proact.runs import Benchmark, Case, CaseSet, CorpusRecord, ExpectedCall, Measure, Nouns, Scored, Settings
from dspy_proact.types import Frozen

THOUGHT_TOKENS, GUESS_TOKENS = (20, 200), (2, 10)
TRICKS = {0, 1, 2, 3}
"""Numbers of the riddles that are tricks."""
TAKEN_FOR_TRICKS = {0, 1, 2, 4}
"""And of those that the model takes for tricks."""
GUESSES = {7: "a wind", 8: "it is an echo", 9: ""}
"""What it guesses where it is not simply right: wrong, too long, and nothing at all."""
COUNT = 10


class Rules(Settings):
    """What a contest can be set to."""

    longest: int = 3
    """Words that a guess may have to be taken."""


class Attempt(Frozen):
    """An answer: what the model thought, what it guesses and whether it takes the riddle for a trick."""

    thought: str
    guess: str
    trick: bool


class Remark(Frozen):
    """Why a guess has its label."""

    words: int


class Think(dspy.Signature):
    """Think about the riddle."""

    riddle: str = dspy.InputField()
    thought: str = dspy.OutputField()


class Solve(dspy.Signature):
    """Guess, and say whether the riddle is a trick."""

    riddle: str = dspy.InputField()
    thought: str = dspy.InputField()
    guess: str = dspy.OutputField()
    trick: bool = dspy.OutputField()


class Judge(dspy.Signature):
    """Say whether the guess is an echo."""

    guess: str = dspy.InputField()
    right: bool = dspy.OutputField()


class Contest(Benchmark[Attempt, Remark]):
    """Ten riddles, each of which is an echo: two share a place, and every third is a number's.

    Args:
        model: Who guesses; None where guesses are there already.
        rules: The settings.
        judge: Who says whether a guess is right; None for nobody.
    """

    name = "contest"
    strata = ("RHYME", "NUMBER")
    labels = ("SOLVED", "LONG", "LOST")
    nouns = Nouns(case="riddle", cases="riddles", group="place", groups="places", row="page", rows="pages")
    measures = (
        Measure(name="length", title="words a guess", parts=("words",)),
        Measure(name="tricks", title="tricks seen through, F1", statistic="f1", parts=("is_trick", "said_trick")),
        Measure(name="insight", title="insight, kappa", statistic="kappa", parts=("is_trick", "said_trick")),
    )
    answer_type = Attempt
    assumption = "Guesses are counted after thoughts of 50 words."

    def __init__(self, model: Model | None, rules: Rules, judge: Model | None = None):
        corpus = CorpusRecord(name="riddles", revision="1", rows=1, cases=COUNT, ignored_fields={})
        self.case_set = CaseSet(tuple(map(_case, range(COUNT))), corpus, sha256="cc")
        self.settings = self._rules = rules
        self.judges = (judge.name,) if judge else ()
        self._model, self._referee = model, judge
        self._think, self._solve, self._judge = (dspy.Predict(signature) for signature in (Think, Solve, Judge))

    @classmethod
    def view_type(cls, stratum: str) -> type[Riddle]:
        return Riddle

    async def answer(self, case: Case) -> Attempt:
        riddle = _riddle(case)
        assert self._model
        with dspy.context(lm=self._model.lm):
            thought = (await ask(self._think, FencedJSON("riddle"), riddle=riddle)).prediction.thought
            solved = (await ask(self._solve, FencedJSON("riddle"), riddle=riddle, thought=thought)).prediction
        if not solved.guess:
            raise ContentError("silent", "no guess was ventured")
        return Attempt(thought=thought, guess=solved.guess, trick=solved.trick)

    async def grade(self, case: Case, answer: Attempt, judge: str | None) -> Scored[Remark]:
        assert judge == (self._referee and self._referee.name)
        words, trick = len(answer.guess.split()), number_of(case.key) in TRICKS
        label = "LOST" if not await self._right(answer) else "LONG" if words > self._rules.longest else "SOLVED"
        score = {"SOLVED": 1.0, "LONG": 0.5, "LOST": 0.0}[label]
        parts = {"words": words, "is_trick": trick, "said_trick": answer.trick}
        return Scored(score, label, Remark(words=words), parts=parts)

    async def _right(self, answer: Attempt) -> bool:
        if self._referee is None:
            return "echo" in answer.guess
        with dspy.context(lm=self._referee.lm):
            return (await ask(self._judge, FencedJSON("guess"), guess=answer.guess)).prediction.right

    def answer_calls(self, case: Case) -> Sequence[ExpectedCall]:
        adapter, riddle, thought = FencedJSON("riddle"), _riddle(case), "word " * 50
        return [
            ExpectedCall(adapter.format(Think, [], {"riddle": riddle}), THOUGHT_TOKENS),
            ExpectedCall(adapter.format(Solve, [], {"riddle": riddle, "thought": thought}), GUESS_TOKENS),
        ]


def contest(endpoint: str, rules: Rules | None = None, concurrency: int = 4) -> Execution:
    """A contest of the model at an endpoint, which has no judge."""
    gate = Gate(concurrency=concurrency, retries=0)
    model = open_model(ModelSpec(name="hosted_vllm/guesser", api_base=endpoint), ASSISTANT, gate)
    return Execution(Contest(model, rules or Rules()), Participant(model, "two steps", prompt="aa"), [], gate)


def one_by_one(endpoint: str, path: str) -> None:
    """What a process does that runs a contest with one call in flight."""
    contest(endpoint, concurrency=1).run(path)


def rejudged(responses: Responses, endpoint: str) -> Execution:
    """The guesses of a contest before the judge at an endpoint."""
    gate = Gate(retries=0)
    judge = open_model(ModelSpec(name="hosted_vllm/referee", api_base=endpoint), JUDGE, gate)
    benchmark = Contest(None, Rules.model_validate(responses.settings), judge)
    return Execution(benchmark, responses, [Participant(judge, "one question", prompt="bb")], gate)


def contestant(sent: Sent) -> Answer:
    """The script of a server that thinks and guesses."""
    text = str(sent.messages[-1]["content"])
    number = number_of(text.partition(":")[0])
    if "[[ ## thought ## ]]" not in text:
        return Answer(json.dumps({"thought": f"about {number}"}))
    return Answer(json.dumps({"guess": GUESSES.get(number, "echo"), "trick": number in TAKEN_FOR_TRICKS}))


def number_of(key: str) -> int:
    """The number of a riddle that ends with it."""
    return int(key.rpartition("-")[2])


def _case(number: int) -> Case:
    key, stratum = f"riddle-{number}", "RHYME" if number % 3 else "NUMBER"
    return Case(key, f"place-{number % 5}", stratum, Riddle(text=f"{key}: what am I?"), {"page": number // 4})


def _riddle(case: Case) -> str:
    assert isinstance(case.view, Riddle)
    return case.view.text
