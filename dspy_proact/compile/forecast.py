"""What a compile takes at most, before a call is made, and how far it has come."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dspy_proact.call_observer import CallObserver
from dspy_proact.calls import Price
from dspy_proact.evaluation.forecast import SECONDS, RoleCalls
from dspy_proact.models import Model
from dspy_proact.recipe import Recipe
from dspy_proact.runs import Bar, ExpectedCall, Nouns
from dspy_proact.stats import SCORE_SPREADS, SPREADS, selected_gain

BEST = 8
"""Programs of one of DSPy's optimizers that are raced, at most."""
MINIBATCH = 9
"""Examples, at most, from which GEPA has an instruction proposed, and on which it must do better."""
_BRIEF = 6000
"""Tokens of a question to the proposer: assumed."""


_ASSUMED_TOKENS = 300
"""Of an answer in a worked example, or of one of which nothing is known: assumed."""


@dataclass(frozen=True)
class RoleForecast:
    """What one model will be asked at most, without repairs and retries.

    Prompts are counted when somebody asks for their tokens: the tokenizer takes seconds to import.
    """

    calls: int
    prompt: Callable[[], float]
    """Counts the tokens of a prompt, with as many demos as a program may get."""
    completion: int
    """Tokens of an answer, if each is as long as the most talkative model's."""
    price: Price
    known: bool = True
    """Whether it is known in advance what is asked; where it is not, one call is counted for each answer or grade."""

    @classmethod
    def of_stages(
        cls,
        model: Model,
        count: int,
        stages: Sequence[Sequence[ExpectedCall] | None],
        role: str | None = None,
        *,
        least: int = 0,
        demos: int = 0,
    ) -> "RoleForecast":
        """What so many answers or grades ask of their own model, or of a further role, at most as often as any stage.

        None stands for a stage whose calls are not known. `least` is the fewest calls; a demo is a case and its answer.
        """
        known = None not in stages
        own = [[call for call in stage or () if call.role == role] for stage in stages]
        calls = [call for stage in own for call in stage]

        def prompt() -> float:
            bare = mean_tokens(model, calls)
            return bare + demos * (bare + _ASSUMED_TOKENS)

        longest = max((call.tokens[1] for call in calls), default=_ASSUMED_TOKENS if known else 0)
        most = max(least if known else max(least, 1), *map(len, own))
        return cls(most * count, prompt, longest, model.price, known)

    @classmethod
    def of_proposer(cls, model: Model, recipe: Recipe, predictors: int, tips: int) -> "RoleForecast":
        """What the proposer is asked in a whole compile; an answer is assumed to have 500 tokens."""
        questions = predictors * proposals_at_most(recipe, tips) * (recipe.folds + 1)
        return cls(questions, lambda: _BRIEF, 500, model.price)

    @cached_property
    def prompt_tokens(self) -> int:
        """Of all calls."""
        return round(self.calls * self.prompt())

    @property
    def completion_tokens(self) -> int:
        """Of all calls."""
        return self.calls * self.completion

    @property
    def usd(self) -> float | None:
        """US dollars of all calls; None where price or calls are not known."""
        return None if not self.known else self.price.of(self.prompt_tokens, self.completion_tokens, calls=self.calls)


@dataclass(frozen=True)
class Forecast:
    """The most that a compile takes; often far less, as answers in the record are not asked for again."""

    roles: Mapping[str, RoleForecast]
    """By what each model is asked for."""
    concurrency: int
    """Calls in flight."""
    sizes: Sequence[int]
    """How many cases or graded answers, on which a claim would rest, each group has."""
    detectable_gain: tuple[float, float] | None = None
    """Between which gains these show one in four compiles of five; None where that is unknown or none may be claimed.
    """
    in_kappa: bool = False
    """Whether gains are in kappa, and not in a mean score."""
    candidates: int = 0
    """Beside the start, at most; of fewer than two none is selected."""
    compared: int = 1
    """Items of a training set."""
    nouns: Nouns = field(default_factory=Nouns)
    warning: str | None = None
    """A sentence without its full stop, where an optimizer cannot do what it is for."""
    assumption: str | None = None
    """What the calls assume, a sentence of the benchmark's."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """Roles of which it is not known in advance what they are asked."""
        return tuple(name for name, role in self.roles.items() if not role.known)

    @property
    def selected_gain(self) -> tuple[float, float] | None:
        """Between which true gains that of the best candidate lies, as `stats.selected_gain` assumes; None of one."""
        spreads = SPREADS if self.in_kappa else SCORE_SPREADS
        return selected_gain(self.candidates, self.compared, spreads) if self.candidates > 1 else None

    @property
    def items(self) -> int:
        """Cases or graded answers."""
        return sum(self.sizes)

    @property
    def calls(self) -> int:
        """Of all models."""
        return sum(role.calls for role in self.roles.values())

    @property
    def tokens(self) -> int:
        """Of all models, prompts and answers."""
        return sum(role.prompt_tokens + role.completion_tokens for role in self.roles.values())

    @property
    def usd(self) -> float | None:
        """US dollars; None where a price is not known."""
        known = [role.usd for role in self.roles.values() if role.usd is not None]
        return sum(known) if len(known) == len(self.roles) else None

    @property
    def seconds(self) -> tuple[float, float]:
        """From quick models to slow ones, if calls never wait for one another."""
        quick, slow = (self.calls / self.concurrency * seconds for seconds in SECONDS)
        return quick, slow


def nothing_proposed(recipe: Recipe) -> str | None:
    """That an optimizer has too few trials to propose anything, as a sentence without its full stop; else None."""
    few = recipe.optimizer == "gepa" and recipe.trials < 2
    return (
        "with 1 trial gepa tries the starting program alone and proposes nothing; it takes 2 or more" if few else None
    )


def proposals_at_most(recipe: Recipe, tips: int) -> int:
    """Instructions that an optimizer asks for on one training set, for each predictor, with so many tips.

    GEPA's trials include the start, as those of a search do.
    """
    return {
        "labeled": 0,
        "bootstrap": 0,
        "miprov2": mipro_instructions(recipe) - 1,
        "gepa": recipe.trials - 1,
        "search": 2 * tips,
    }[recipe.optimizer]


def mipro_instructions(recipe: Recipe) -> int:
    """Instructions of each predictor that MIPROv2 chooses among, the start's one of them."""
    return max(2, min(recipe.trials // 2, 8))


def candidates_at_most(recipe: Recipe) -> int:
    """Programs that are raced, the start among them, and of DSPy's optimizers the best predictors of all joined."""
    return {"labeled": 2, "search": recipe.trials}.get(recipe.optimizer, 2 + BEST)


def selectable(recipe: Recipe, hints: int, tips: int, predictors: int) -> int:
    """Candidates beside the start, at most, among which one is selected.

    Without demos a search has no more than its instructions combine to, for each predictor the start's and those of so
    many hints and of two rounds of tips. With one predictor there is nothing to join.
    """
    most = candidates_at_most(recipe) - (predictors == 1 and recipe.optimizer not in ("labeled", "search"))
    if recipe.optimizer == "search" and not recipe.max_demos:
        most = min(most, (1 + hints + 2 * tips) ** predictors)
    return most - 1


def answers_at_most(recipe: Recipe, learn: int, compare: int, chain: int = 1) -> int:
    """Answers that an optimizer and the race ask for, with so many examples to learn from and to compare on.

    The race may ask every candidate about all of them where guards drop one leader after another; by itself it asks a
    search of 20 trials on 48 examples for about half. Repairs are not counted. Where an optimizer asks about a few
    examples, each takes those before it, in a `chain` of so many at most.
    """
    trials, examples = recipe.trials, learn + compare
    if recipe.optimizer in ("labeled", "search"):
        return candidates_at_most(recipe) * examples
    if recipe.optimizer == "gepa":  # all that it accepts are on all examples by then
        return (trials // 2 + 3) * examples + 2 * (trials + 1) * min(learn, MINIBATCH * chain)
    return (
        {
            "bootstrap": (trials + 3) * compare + (trials + 1) * learn,
            "miprov2": (trials + 1) * compare + (trials + 1) * learn,
        }[recipe.optimizer]
        + 2 * examples
        + BEST * learn
    )


def guarded_at_most(recipe: Recipe, count: int) -> int:
    """Answers that guards ask for on one training set, with so many to each program."""
    return count * candidates_at_most(recipe)


def mean_tokens(model: Model, calls: Sequence[ExpectedCall]) -> float:
    """Mean prompt of some calls, by the model's tokenizer and known rules for images; 0 without calls."""
    counted = RoleCalls.of(model, [calls])
    return counted.prompt_tokens / counted.calls if counted.calls else 0.0


@dataclass(frozen=True)
class Stand:
    """How far a compile is at one moment."""

    at_most: int | None
    """Calls that it takes at most; None where that is not known."""
    paid: int = 0
    """Calls that were sent by this command, retries apart."""
    kept: int = 0
    """Answers that stood in the record when it began."""
    tried: int = 0
    """Candidates, over all folds."""
    best: float | None = None
    """Highest mean score of a candidate so far, in [0, 1], on what candidates are compared on: chosen, not tested."""
    usd: float | None = 0.0
    """US dollars that were spent by this command; None where a price is not known."""
    seconds: float = 0.0
    """Since it began."""

    @property
    def done(self) -> int:
        """Calls that need not be made any more."""
        return self.paid + self.kept


class CompileObserver(CallObserver):
    """Is told what happens in a compile; this one keeps it to itself. It may be told by several threads, in turn."""

    def started(self, forecast: Forecast, stand: Stand) -> None:  # noqa: ARG002 - for those that tell it
        """A compile begins."""
        self.changed(stand)

    def changed(self, stand: Stand) -> None:
        """An answer came, candidates were tried, or a compile begins."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""


class CompileBar(Bar, CompileObserver):
    """Shows the calls."""

    unit = " calls"

    def changed(self, stand: Stand) -> None:
        """Move the bar; few compiles take all the calls that they may take."""
        self.move(stand.done, stand.at_most)


class Progress:
    """Counts what happens, for an observer; `kept` is the number of answers in the record."""

    def __init__(self, observer: CompileObserver, forecast: Forecast, kept: int):
        self._observer = observer
        priced = all(role.price.of(0, 0) is not None for role in forecast.roles.values())
        self._stand = Stand(None if forecast.unknown else forecast.calls, kept=kept, usd=0.0 if priced else None)
        self._turn, self._begun = threading.Lock(), time.monotonic()
        observer.started(forecast, self._stand)

    def count_paid(self, usd: float) -> None:
        """A request was sent and its answer kept, which cost so many US dollars, where that is known."""
        with self._turn:
            known = self._stand.usd is not None
            self._tell(paid=self._stand.paid + 1, usd=(self._stand.usd or 0.0) + usd if known else None)

    def tried(self, count: int, best: float) -> None:
        """Candidates were tried, the best of which has this score."""
        with self._turn:
            before = self._stand.best
            self._tell(tried=self._stand.tried + count, best=best if before is None else max(before, best))

    def _tell(self, **changes: float | None) -> None:
        self._stand = replace(self._stand, seconds=time.monotonic() - self._begun, **changes)
        self._observer.changed(self._stand)
