"""A moment of a person's work, what an agent does at it, and how that is graded.

Source: Tang et al. 2026 (arXiv 2602.04482). The truth is what the person did: whether they turned to an AI assistant at
that moment, which is not a judgement that help was wanted.

Names, order and types of the fields of `Activity` and `State` are prompt text.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Literal, get_args

from pydantic import Field

from dspy_proact.benchmarks.proagentbench.screens import Screenshot
from dspy_proact.evaluation.embedding import OF_EMBEDDER, EmbedderSettings
from dspy_proact.evaluation.stream import Decision, RuleName, Rules
from dspy_proact.images import Picture
from dspy_proact.runs import Scored, Settings
from dspy_proact.types import Frozen

RIGHT, WRONG = "RIGHT", "WRONG"
Intention = Literal[
    "Information Lookup",
    "Knowledge Q&A",
    "Data Analysis",
    "Coding/Programming",
    "Content Generation",
    "Advice/Consultation",
    "Summarization",
    "Document Editing",
    "Comparison/Evaluation",
    "Translation",
    "Creative Design",
    "Format Conversion",
    "Mathematical Calculation",
    "Uncategorized",
    "Functional Testing",
    "Error Correction",
]
"""The published classes, the commonest first."""
INTENTIONS: tuple[str, ...] = get_args(Intention)
COMMONEST: Intention = "Information Lookup"
"""35 % of the published moments that wanted help."""
_WORD = re.compile(r"[a-z0-9]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Latin words, and the single characters of scripts without blanks between words."""
Memory = Literal["none", "graph", "rag", "persona"]


class ProAgentBenchSettings(EmbedderSettings, Rules, Settings):
    """The settings of ProAgentBench."""

    of_grading: ClassVar[frozenset[str]] = frozenset({"cost"})
    baseline: RuleName | Literal["graph"] = "none"  # pyright: ignore[reportIncompatibleVariableOverride] - frozen
    """A rule in place of the program, which asks no model; graph decides by the counts of memory=graph alone."""
    program: Literal["joint", "staged"] = "joint"
    """joint asks for need, intention and query in one call, as published; staged asks when, and then how."""
    cot: bool = False
    """Have the model reason in four steps before it decides, as published."""
    samples: int = Field(default=1, ge=1, le=25)
    """Answers to each moment, of which the majority decides (self-consistency); a tie is silence."""
    memory: Memory = "none"
    """What is told of the person's work before now: graph gives shares of help sought, rag the five most similar
    moments with help, persona applications, hours and intentions."""
    window: int = Field(default=300, ge=10, le=3600)
    """Seconds of activity before now that are shown; 300 as published."""
    screenshot: bool = False
    """Also show the last screenshot of the current state, scaled down; moments without one are left out and counted."""
    negatives: Literal["matched", "all"] = "matched"
    """Moments without help: matched takes as many as there are with it, in the same applications; all takes all."""
    cost: float = Field(default=1.0, ge=0, le=100)
    """What help that was not sought costs, in help that was."""
    embedder: str | None = None
    """Model that compares the expected query with the person's by meaning, to which both are sent."""
    strict: bool = True
    """Refuse a corpus with rows that cannot be used; false leaves them out and counts them."""

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Settings without effect, each with the setting that makes it so."""
        unused = dict(self.rules_without_effect)
        if self.embedder is None:
            unused |= dict.fromkeys(OF_EMBEDDER, "embedder=none")
        if self.baseline != "none":
            asking = ("program", "cot", "samples", "memory", "window", "embedder")
            unused |= dict.fromkeys(asking, f"baseline={self.baseline}")
        return unused


class Activity(Frozen):
    """A stretch of time in one window."""

    seconds_ago: int
    """From its begin until now."""
    seconds: int
    """That it lasted."""
    app: str
    window_title: str
    summary: str


class State(Frozen):
    """What is on the screen now."""

    time: str
    """Weekday and time of day."""
    app: str
    window_title: str
    summary: str
    """At most 200 characters."""


class Truth(Frozen):
    """What the person did at a moment; never sent."""

    wanted: bool
    intention: Intention | None = None
    """What the help was for; None where it was not wanted, or nobody said."""
    query: str = ""
    """What the person asked first."""


class MomentView(Frozen):
    """A moment: what is seen at it, and the truth, which `inputs` of the benchmark leaves out."""

    activity: tuple[Activity, ...]
    """In the window before now, oldest first; the last one is the current state."""
    current: State
    screenshot: Screenshot | None = None
    """Of the current state, where the settings show it."""
    memory: str = ""
    truth: Truth


class Assistance(Frozen):
    """What an agent does at a moment."""

    need_help: bool
    intention: Intention | None = None
    """None where it stays silent."""
    query: str = ""
    """What it expects the person to ask."""
    share: float = Field(default=1.0, ge=0, le=1)
    """Of several samples, the share that says so."""
    similarity: float | None = None
    """Cosine of the embeddings of its query and the person's, in [-1, 1]; None where they were not compared."""
    picture: Picture | None = None
    """The screenshot that it was shown, without its bytes."""


class MomentGrade(Frozen):
    """What is found of an answer."""

    wanted: bool
    acted: bool
    intention_right: bool | None = None
    """None where no help was wanted, or the intention is not known."""
    similarity: float | None = None
    """Of the expected query and the person's, in [0, 1], by `lexical_cosine`; None likewise."""


def graded(answer: Assistance, truth: Truth, cost: float) -> Scored[MomentGrade]:
    """The grade: 1 where the agent helps at a moment that wanted help or is silent at one that did not, else 0.

    Intention and query are graded at moments that wanted help: silence there has neither, and counts as wrong and 0.
    """
    decision = Decision(answer.need_help, truth.wanted)
    parts, right, similarity = decision.parts(cost), None, None
    if truth.wanted and truth.intention is not None:
        right = answer.need_help and answer.intention == truth.intention
        parts["intention"] = float(right)
    if truth.wanted and truth.query:
        similarity = lexical_cosine(answer.query, truth.query) if answer.need_help else 0.0
        parts["lexical_similarity"] = similarity
        if answer.similarity is not None:
            parts["similarity"] = answer.similarity
    detail = MomentGrade(wanted=truth.wanted, acted=answer.need_help, intention_right=right, similarity=similarity)
    return Scored(float(decision.right), RIGHT if decision.right else WRONG, detail, parts=parts)


def lexical_cosine(one: str, other: str) -> float:
    """Cosine of the counts of words, in [0, 1]; 0 where a text has none. Other words of one meaning are not alike."""
    a, b = (Counter(_WORD.findall(text.casefold())) for text in (one, other))
    length = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return min(1.0, sum(count * b[word] for word, count in a.items()) / length) if length else 0.0
