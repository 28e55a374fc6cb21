"""A third thing to compile, which shares nothing with ProactBench: a classifier of words that learns from examples.

Compiles are tested with it, which shows that they know neither judge nor assistant. Its models at the tests' server
call every word heavy until they are told the rule or shown a word that is light.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import dspy
from assistants import proposed
from server import Answer, Sent, Server

from dspy_proact.benchmarks.proactbench.programs import JUDGE
from dspy_proact.compile.compile import PROPOSER
from dspy_proact.compile.folds import Fold, grouped_folds, split
from dspy_proact.compile.proposer import SHOWN, Excerpts
from dspy_proact.compile.training import Chosen, Proposal, Training
from dspy_proact.errors import ContentError
from dspy_proact.models import Gate, ModelSpec, Record, open_model
from dspy_proact.programs import FencedJSON, Recipe
from dspy_proact.programs.asking import ask_for_fields, ask_now, rendered, run_now

RULE = "A word with an e is light; every other word is heavy."
"""What nobody tells the start: it calls every word heavy."""
COLOURS = ("amber", "basalt", "copper", "denim", "ebony", "flint")


@dataclass(frozen=True)
class Word:
    """A word of a family, with the class that it truly has."""

    key: str
    unit: str
    text: str

    @property
    def weight(self) -> str:
        return "LIGHT" if "e" in self.text else "HEAVY"

    @property
    def example(self) -> dspy.Example:
        return dspy.Example(key=self.key, word=self.text).with_inputs("word")


def words(families: int = 6, each: int = 4) -> list[Word]:
    """Words of families, a half of each light."""
    ends = ("ing", "est", "oak", "elm")
    return [
        Word(f"{COLOURS[family]}-{number}", COLOURS[family], f"q{'bcdfgh'[family]}{ends[number]}")
        for family in range(families)
        for number in range(each)
    ]


class Weigh(dspy.Signature):
    """Say of a word whether it is light or heavy."""

    word: str = dspy.InputField()
    weight: Literal["LIGHT", "HEAVY"] = dspy.OutputField()


class Weigher(dspy.Module):
    """Classifies one word."""

    def __init__(self) -> None:
        super().__init__()
        self.weigh = dspy.Predict(Weigh)

    @property
    def instruction(self) -> str:
        return self.weigh.signature.instructions

    def fingerprint(self) -> str:
        return repr(rendered(self.weigh, FencedJSON(), {"word": "{word}"}))

    def forward(self, word: str) -> dspy.Prediction:
        return run_now(ask_for_fields(ask_now, self.weigh, lambda note: FencedJSON(note=note), word=word))


class ProposeRule(dspy.Signature):
    """Write a better instruction for a classifier of words."""

    instruction: str = dspy.InputField()
    shortfalls: list[str] = dspy.InputField()
    tip: str = dspy.InputField()
    improved_instruction: str = dspy.OutputField()


@dataclass(frozen=True)
class WordTraining(Training[Weigher]):
    words: Mapping[str, Word]

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        return float(prediction.weight == self.words[example.key].weight)

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        return self.score(example, prediction) == 1

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        word = self.words[example.key]
        return f"{word.text} is {word.weight}, and was called {prediction.weight}."

    shortfall = feedback

    @property
    def labelled(self) -> Sequence[dspy.Example]:
        """Each word with its class."""
        return [
            dspy.Example(word=each.word, weight=self.words[each.key].weight, key=each.key).with_inputs("word")
            for each in self.learn
        ]


@dataclass(frozen=True)
class WordTask:
    """How a weigher is tuned to words."""

    items: Sequence[Word]
    recipe: Recipe
    lm: dspy.LM
    proposer_lm: dspy.LM
    width: int
    start: Weigher
    role: str = "judge"

    @property
    def folds(self) -> tuple[Fold[Word], ...]:
        return grouped_folds(self.items, self.recipe.folds, self.recipe.seed)

    def training(self, train: Sequence[Word], before: Mapping[str, Any]) -> WordTraining:
        learn, compare = split(train, self.recipe.seed)
        return WordTraining(
            student=self.start.deepcopy(),
            learn=[word.example for word in learn],
            compare=[word.example for word in compare],
            groups={word.key: word.unit for word in train},
            task_lm=self.lm,
            proposer_lm=self.proposer_lm,
            proposal=Proposal(ProposeRule, ("one", "another")),
            width=self.width,
            excerpts=Excerpts(SHOWN),
            words={word.key: word for word in train},
        )

    def finished(self, chosen: Chosen[Weigher], training: WordTraining) -> Weigher:
        return chosen.program

    def test(self, tuned: Weigher, item: Word) -> float | None:
        try:
            with dspy.context(lm=self.lm, trace=None):
                return float(tuned(word=item.text).weight == item.weight)
        except ContentError:
            return None

    def score(self, results: Mapping[str, float | None], items: Sequence[Word]) -> float | None:
        known = [score for item in items if (score := results[item.key]) is not None]
        return fmean(known) if known else None


def task_at(server: Server, recipe: Recipe, gate: Gate, record: Record | None = None) -> WordTask:
    """The task with its models at a server."""
    weigher = open_model(ModelSpec(name="openai/any", api_base=server.judge), JUDGE, gate, record=record)
    proposer = open_model(ModelSpec(name="openai/any", api_base=server.proposer), PROPOSER, gate, record=record)
    return WordTask(words(), recipe, weigher.lm, proposer.lm, gate.concurrency, Weigher())


def weighing(sent: Sent) -> Answer:
    """Models that learn: by a rule, or by a light word among the examples."""
    if sent.role == "proposer":
        return Answer(proposed(sent, RULE))
    system, *shown, asked = (str(message["content"]) for message in sent.messages)
    word = next(each.text for each in words() if each.text in asked)
    knows = RULE in system or any("LIGHT" in text for text in shown)
    return Answer(json.dumps({"weight": "LIGHT" if knows and "e" in word else "HEAVY"}))
