"""One attempt to make an item: how roles are asked, what breaks a rule, and who wrote what.

An attempt asks its roles one stage after another. A stage whose answer breaks a rule is asked again with the reasons,
twice; then it is `RuleError`, and the stage before makes its own answer once more (`mended`); then the attempt fails. A
model that answers nothing of use breaks a rule like any other. What a provider fails to deliver is no attempt's fault:
it is raised as it is.

The rollout of a request is a hash of seed, slot, attempt, stage, turn, sample and repeat, so that equal requests are no
copies of one another, and no order of arrival decides anything. Of one stage and turn several samples may be asked for
side by side, as long as they are begun in an order that is always the same.
"""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

import dspy
from pydantic_core import to_jsonable_python

from dspy_proact.calls import Price, Usage, collect_calls
from dspy_proact.errors import ContentError
from dspy_proact.models.logged import at_rollout
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import Asking, rendered
from dspy_proact.programs.fenced_json import fence
from dspy_proact.programs.program import Program
from dspy_proact.types import Frozen

T = TypeVar("T")
U = TypeVar("U")
SAMPLES = 3
"""Answers to one question, at most: the first, and two more with the reasons against the one before."""
MOST_CHARACTERS = 60_000
"""Of an answer as JSON, which requests after it repeat and rules search."""
Rules = Callable[[Any], Sequence[str] | Awaitable[Sequence[str]]]
"""What is wrong with an answer, a sentence each that says what to do; empty where it may stand. An audit is awaited."""
_AGAIN = "Your answer before this one cannot be used. Answer once more, with this mended:"
_MEND = "This has failed before. Answer so that the following does not happen again:"
_BEFORE = "That answer, of which all may stay that is not against this:"


def rollout_of(*parts: object) -> int:
    """A number in [0, 2**62) for what a request is asked for: seed, slot, attempt, stage, turn and sample."""
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:8]) >> 2


def cycled(values: Sequence[T], seed: int, slot: int, what: str) -> T:
    """The value of a slot, counted from 1: all of them once in every cycle, each cycle in an order of its own."""
    cycle, index = divmod(slot - 1, len(values))
    return values[_order(len(values), seed, cycle, what)[index]]


@lru_cache(maxsize=16)
def _order(count: int, seed: int, cycle: int, what: str) -> Sequence[int]:
    """So many indices, in the order of a cycle."""
    return sorted(range(count), key=lambda index: rollout_of(seed, cycle, what, index))


class RuleError(Exception):
    """A stage whose answers break a rule, each time it is asked.

    Attributes:
        stage: Its name.
        reasons: Against the last answer.
    """

    def __init__(self, stage: str, reasons: Sequence[str]):
        super().__init__(f"{stage}: {' '.join(reasons)}")
        self.stage, self.reasons = stage, tuple(reasons)


class Authorship(Frozen):
    """Who wrote one answer, and what it took."""

    role: str
    model: str
    stage: str
    turn: int
    """Counted from 1; 0 for a stage of the item as one."""
    sample: int
    """Counted from 1, over all that were begun of this stage at this turn in the attempt."""
    repeat: int
    """Question of the sample, counted from 1: above it is one that was repeated."""
    prompt: str
    """sha256 of the messages."""
    calls: int
    """Retries included."""
    prompt_tokens: int | None
    """None, as the other count, where the provider did not say."""
    completion_tokens: int | None
    usd: float | None
    """US dollars; None where that is not known."""
    broken: tuple[str, ...] = ()
    """The rules that the answer breaks."""

    @property
    def order(self) -> tuple[int, str, int, int]:
        """What sorts the answers of an attempt, whatever the order in which they came."""
        return self.turn, self.stage, self.sample, self.repeat


class Mend(Frozen):
    """A stage that made its answer once more, since a later one could not use it."""

    stage: str
    """The later one."""
    reasons: tuple[str, ...]


@dataclass
class Attempt:
    """One attempt to make the item of a slot."""

    seed: int
    slot: int
    """Counted from 1."""
    number: int
    """Counted from 1."""
    asks: Mapping[str, Asking]
    """By role."""
    names: Mapping[str, str]
    """Of the models, by role."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """By role."""
    authors: list[Authorship] = field(default_factory=list[Authorship])
    """In the order in which answers came."""
    mends: list[Mend] = field(default_factory=list[Mend])
    _samples: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    _answers: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """The last one of a stage at a turn, as JSON."""

    async def ask(
        self,
        role: str,
        stage: str,
        program: Program,
        rules: Rules = lambda _: (),
        *,
        turn: int = 0,
        reason: str = "",
        **inputs: Any,
    ) -> dspy.Prediction:
        """The answer of a program that breaks no rule.

        One that does is asked for again, twice, with the reasons and the answer that they are against.

        Args:
            role: Who is asked.
            stage: For what.
            program: By which question.
            rules: What is wrong with an answer.
            turn: Counted from 1; 0 for a stage of the item as one.
            reason: Why the stage's answer before cannot be used; empty where there was none.
            inputs: Of the program.

        Raises:
            RuleError: The last one breaks a rule too, or could not be used.
            ProviderError: The model cannot be reached.
        """
        written = list[Authorship]()
        asking, reasons = self.asking(role, stage, turn, written), tuple(filter(None, [reason]))
        try:
            for _ in range(SAMPLES):
                predictor, adapter = program.first(inputs), program.wording(self._note(stage, turn, reasons))
                try:
                    answer = await asking(predictor, adapter, **inputs)
                except ContentError as error:
                    mend = "Answer with one JSON object that has every field."
                    reasons = (f"It could not be used ({error}). {mend}",)
                    self._answers.pop((stage, turn), None)
                else:
                    text = json.dumps(to_jsonable_python(answer.prediction.toDict()), ensure_ascii=False)
                    self._answers[stage, turn] = text
                    if answer.truncated or len(text) > MOST_CHARACTERS:
                        cut = (
                            "It was cut at the token limit" if answer.truncated else f"It has {len(text):,} characters"
                        )
                        reasons = (f"{cut}; write a shorter one, of {MOST_CHARACTERS:,} characters at most.",)
                        self._answers.pop((stage, turn))
                    elif "\\u0000" in text.replace("\\\\", ""):  # no reader takes a file with one
                        reasons = ("It holds a NUL character, which no file may have; leave it out.",)
                    else:
                        broken = rules(answer.prediction)
                        reasons = tuple(await broken if isinstance(broken, Awaitable) else broken)
                        if not reasons:
                            return answer.prediction
                written[-1] = written[-1].model_copy(update={"broken": reasons})
        finally:
            self.authors += written
        raise RuleError(stage, reasons)

    def _note(self, stage: str, turn: int, reasons: Sequence[str]) -> str:
        """What ends a question that is asked again; empty for one that is not."""
        if not reasons:
            return ""
        before, listed = self._answers.get((stage, turn)), [f"- {reason}" for reason in reasons]
        return "\n".join([_AGAIN, *listed, _BEFORE, fence(before)] if before else [_MEND, *listed])

    def asking(self, role: str, stage: str, turn: int = 0, written: list[Authorship] | None = None) -> Asking:
        """A way to ask a program of any kind, such as a judge: one sample of the stage, whatever it asks.

        Who wrote its answers is added to `written`, the attempt's own where None.
        """
        self._samples[stage, turn] += 1
        sample, repeats = self._samples[stage, turn], count(1)

        async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
            repeat = next(repeats)
            rollout = rollout_of(self.seed, self.slot, self.number, stage, turn, sample, repeat)
            prompt = json.dumps(rendered(predictor, adapter, inputs), ensure_ascii=False, sort_keys=True, default=str)
            with at_rollout(rollout), collect_calls() as calls:
                try:
                    return await self.asks[role](predictor, adapter, **inputs)
                finally:
                    names = {"role": role, "model": self.names[role], "stage": stage}
                    numbers = {"turn": turn, "sample": sample, "repeat": repeat}
                    sha256 = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
                    usage = vars(Usage.of(calls, self.prices.get(role, Price())))
                    counts = {name: usage[name] for name in ("calls", "prompt_tokens", "completion_tokens", "usd")}
                    author = Authorship(**names, **numbers, prompt=sha256, **counts)
                    (self.authors if written is None else written).append(author)

        return ask

    async def mended(self, earlier: Callable[[str], Awaitable[T]], later: Callable[[T], Awaitable[U]]) -> U:
        """What later stages make of an earlier one; where they break, of what it makes with the reason, once.

        `earlier` is called with the reason, empty at first.
        """
        try:
            return await later(await earlier(""))
        except RuleError as broken:
            self.mends.append(Mend(stage=broken.stage, reasons=broken.reasons))
            return await later(await earlier(f"What was made of it fails. {' '.join(broken.reasons)}"))


async def all_of(works: Iterable[Awaitable[T]]) -> list[T]:
    """What works give, in their order; all have ended before the first error in their order is raised."""
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
