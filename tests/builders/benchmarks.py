"""Benchmarks that are not the package's: a contest of riddles, and the one of docs/own-benchmark.md as it stands there.

In the contest a model thinks about a riddle, then guesses. It grades by itself, in two calls an answer, with parts,
measures and settings of every kind; `Refereed` has a judge.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import dspy
from drivers.script import ROOT
from fakes.server import Answer, Sent, Server

from builders.riddles import Riddle
from dspy_proact import (
    Benchmark,
    Case,
    CaseSet,
    ContentError,
    Evaluation,
    Gate,
    Limits,
    Measure,
    ModelSpec,
    Nouns,
    PublishedRow,
    Scored,
)
from dspy_proact.evaluation.benchmark import CallForecast, CorpusFacts
from dspy_proact.evaluation.published import Published
from dspy_proact.runs import ExpectedCall, Settings
from dspy_proact.types import Frozen

THOUGHT_TOKENS, GUESS_TOKENS = (20, 200), (2, 10)
TEXT = (ROOT / "docs" / "own-benchmark.md").read_text("utf-8").partition("<!-- file: mine.py -->\n```python\n")[2]
TEXT = TEXT.partition("```\n")[0]
TRICKS = {0, 1, 2, 3}
"""Numbers of the riddles that are tricks."""
TAKEN_FOR_TRICKS = {0, 1, 2, 4}
"""Numbers of those that the model takes for tricks."""
GUESSES = {7: "a wind", 8: "it is an echo", 9: "none"}
"""What it guesses where it is not simply right: wrong, too long, and nothing at all."""
COUNT = 10


class Rules(Settings):
    """What a contest can be set to."""

    of_grading: ClassVar = frozenset({"longest"})

    longest: int = 3
    """Words that a guess may have to be taken."""
    style: Literal["plain", "rhymed"] = "plain"
    """How it is asked."""
    fair: bool = True
    """Whether tricks are left
    out."""
    hint: str | None = None
    """What is told before."""
    bonus: float = 0.5
    """Points for a quick guess."""
    barred: tuple[str, ...] = ()
    """Words that nobody may say."""


class Declared(Benchmark[Any, Any]):
    """A benchmark that is never run."""

    labels: Sequence[str] = ("GOOD", "POOR")
    answer_type = Frozen

    def read(self, corpus, settings, revision=None):
        raise NotImplementedError

    def program(self, settings, start, roles):
        raise NotImplementedError

    async def grade(self, case, answer, ask):
        raise NotImplementedError


class Attempt(Frozen):
    """An answer: what the model thought, what it guesses and whether it takes the riddle for a trick."""

    thought: str
    guess: str
    trick: bool


class Remark(Frozen):
    """Why a guess has its label."""

    words: int


class Guesser(dspy.Module):
    """Thinks, then guesses."""

    def __init__(self):
        super().__init__()
        self.think = dspy.Predict("text -> thought")
        self.solve = dspy.Predict("text, thought -> guess, trick: bool")

    async def aforward(self, text):
        thought = (await self.think.acall(text=text)).thought
        solved = await self.solve.acall(text=text, thought=thought)
        if solved.guess == "none":
            raise ContentError("silent", "no guess was ventured")
        return dspy.Prediction(thought=thought, guess=solved.guess, trick=solved.trick)


def guess_calls(case, program, settings):
    inputs, adapter = {"text": case.view.text, "thought": "word " * 50}, dspy.ChatAdapter()
    calls = ((program.think, THOUGHT_TOKENS), (program.solve, GUESS_TOKENS))
    return [ExpectedCall(adapter.format(item.signature, [], inputs), tokens) for item, tokens in calls]


class Contest(Benchmark[Attempt, Remark]):
    """Ten riddles, each of which is an echo: two share a place, and every third is a number's."""

    name = "contest"
    about = "Whether riddles are seen through."
    corpus = CorpusFacts("10 riddles in 5 places", "none", "made by the tests")
    strata = ("RHYME", "NUMBER")
    labels = ("SOLVED", "LONG", "LOST")
    nouns = Nouns(case="riddle", cases="riddles", group="place", groups="places", row="page", rows="pages")
    measures = (
        Measure(name="length", title="words a guess", parts=("words",)),
        Measure(name="tricks", title="tricks seen through, F1", statistic="f1", parts=("is_trick", "said_trick")),
        Measure(name="insight", title="insight, kappa", statistic="kappa", parts=("is_trick", "said_trick")),
    )
    view = Riddle
    answer_type = Attempt
    settings_type = Rules
    forecast = CallForecast(guess_calls, assumption="Guesses are counted after thoughts of 50 words.")

    def read(self, corpus, settings, revision=None):
        return CaseSet.of("riddles", map(_case, range(COUNT)))

    def program(self, settings, start, roles):
        return Guesser()

    async def grade(self, case, answer, ask):
        words, trick = len(answer.guess.split()), number_of(case.key) in TRICKS
        right = (await ask(guess=answer.guess)).right if ask.program else "echo" in answer.guess
        label = "LOST" if not right else "LONG" if words > ask.settings.longest else "SOLVED"
        score = {"SOLVED": 1.0, "LONG": 0.5, "LOST": 0.0}[label]
        parts = {"words": words, "is_trick": trick, "said_trick": answer.trick}
        return Scored(score, label, Remark(words=words), parts=parts)


class Refereed(Contest):
    """The same before a referee, who says whether a guess is right."""

    def judge(self, settings, start):
        return dspy.Predict("guess -> right: bool")

    published = Published(lambda: [PublishedRow("nobody", {"score": 0.9})])


def contest(endpoint: str, rules: Rules | None = None, concurrency: int = 4) -> Evaluation:
    """A contest of the model at an endpoint, which has no judge."""
    model = ModelSpec(name="hosted_vllm/guesser", api_base=endpoint)
    return Evaluation(
        "riddles", model, benchmark=Contest(), settings=rules, gate=Gate(concurrency=concurrency, retries=0)
    )


def contestant(sent: Sent) -> Answer:
    """The script of a server that thinks and guesses."""
    text = str(sent.messages[-1]["content"])
    number = number_of(text.partition("riddle-")[2].partition(":")[0])
    if "[[ ## thought ## ]]" not in text.partition("Respond with")[0]:
        return fields(thought=f"about {number}")
    return fields(guess=GUESSES.get(number, "echo"), trick=number in TAKEN_FOR_TRICKS)


def fields(**values: object) -> Answer:
    """An answer with these fields, as a plain program of DSPy reads them."""
    return Answer("\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()))


def number_of(key: str) -> int:
    """The number of a riddle that ends with it."""
    return int(key.rpartition("-")[2])


def _case(number: int) -> Case:
    key, stratum = f"riddle-{number}", "RHYME" if number % 3 else "NUMBER"
    return Case(key, f"place-{number % 5}", stratum, Riddle(text=f"{key}: what am I?"), {"page": number // 4})


class Reply(Frozen):
    """What the helper says at last, and to what."""

    message: str
    reply: str


class Helper(dspy.Module):
    """Asks at the desk, and passes on what it hears; the desk is a tool with a model of its own."""

    def __init__(self, roles):
        super().__init__()
        self.look = dspy.Predict("message -> question")
        self.tell = dspy.Predict("message, finding -> reply")
        desk = dspy.Predict("question -> finding")  # a tool is no part of the program, and no compile tunes it
        self.at_desk = lambda question: desk.acall(question=question, lm=roles["desk"])

    async def aforward(self, message):
        question = (await self.look.acall(message=message)).question
        finding = (await self.at_desk(question)).finding
        return await self.tell.acall(message=message, finding=finding)


class Errands(Benchmark[Reply, Remark]):
    """Four wishes, each told by a user in two messages, with a helper and its desk: eight calls a wish."""

    name = "errands"
    labels = ("DONE", "LOST")
    view = Riddle
    answer_type = Reply
    roles: ClassVar = {"user": None, "desk": "hosted_vllm/desk"}

    def read(self, corpus, settings, revision=None):
        wishes = [f"wish-{number}" for number in range(4)]
        return CaseSet.of("wishes", [Case(wish, wish, "all", Riddle(text=wish)) for wish in wishes])

    def program(self, settings, start, roles):
        return Helper(roles)

    async def answer(self, case, ask):
        user, message, reply = dspy.Predict("wish, reply -> message"), "", ""
        for _ in range(2):
            message = (await user.acall(wish=case.view.text, reply=reply, lm=ask.roles["user"])).message
            reply = (await ask(message=message)).reply
        return Reply(message=message, reply=reply)

    async def grade(self, case, answer, ask):
        right = f"{case.key}: " in answer.message and answer.reply.startswith("found")
        return Scored(float(right), "DONE" if right else "LOST", Remark(words=len(answer.reply.split())))

    def stand_in(self, role):
        return ERRANDS[role]


def _of_user(_, messages):
    text = str(messages[-1][1])
    wish = text.partition("wish-")[2][:1]
    return {"message": f"wish-{wish}: {'thanks, and' if 'found' in text else 'please,'} the keys"}


ERRANDS = {
    "user": _of_user,
    "desk": lambda _, __: {"finding": "on the table"},
    "assistant": lambda _, messages: {"question": "Where are the keys?", "reply": "found on the table"},
}
"""What each role answers, by the name that it has at a server too; every wish is done."""
ERRAND_CALLS = ("user", "assistant", "desk", "assistant") * 2
"""The roles that are called for a wish, in their order."""


def errands(server: Server, concurrency: int = 1, limits: Limits | None = None, **roles: ModelSpec | str) -> Evaluation:
    """Errands with a model a role at a server, or the models that are given; `errand` is its script."""
    helper, *further = (
        ModelSpec(name=f"hosted_vllm/{role}", api_base=server.base(role)) for role in ("assistant", "user", "desk")
    )
    gate = Gate(concurrency=concurrency, retries=0, backoff=0.0, limits=limits)
    named = dict(zip(("user", "desk"), further, strict=True)) | roles
    return Evaluation("wishes", helper, benchmark=Errands(), gate=gate, roles=named)


def errand(sent: Sent) -> Answer:
    """The script of a server that plays every role of the errands."""
    messages = [(message["role"], str(message["content"])) for message in sent.messages]
    return fields(**ERRANDS[sent.role]("", messages))


def write_mine(folder: Path, was: str = "", becomes: str = "") -> Path:
    """Write it, with one thing changed."""
    assert TEXT.count(was) == 1 or not was, was
    path = folder / "mine.py"
    path.write_text(TEXT.replace(was, becomes) if was else TEXT, encoding="utf-8")
    return path


def line_of(path: Path, text: str) -> int:
    """The line, counted from 1, in which a text stands first."""
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), start=1) if text in line)
