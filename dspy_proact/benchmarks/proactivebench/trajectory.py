"""A trajectory through an environment: what can be set, what is shown and said at each step, and how that is graded."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS, Entry, Name, abstains
from dspy_proact.benchmarks.proactivebench.environment import Environment, State, StepOutcome
from dspy_proact.evaluation.ruled import Baseline, drawn
from dspy_proact.images import LONGEST, Box
from dspy_proact.runs import Case, Scored, Settings
from dspy_proact.types import Frozen

RIGHT, WRONG = "RIGHT", "WRONG"
_OF_MODEL = ("cot", "examples", "hint", "history", "longest", "program")
"""Settings that have no effect beside a baseline."""
_OF_MOVES = ("history", "examples", "control", "ask_reward")
"""Settings that have none where there are no moves."""


class ProactiveBenchSettings(Baseline, Settings):
    """The settings of ProactiveBench."""

    of_grading: ClassVar[frozenset[str]] = frozenset({"ask_reward"})
    program: Literal["choose", "open"] = "choose"
    """choose plays the environment by lettered options; open answers the first image in its own words, for a judge."""
    environments: tuple[Name, ...] = Field(default=NAMES, min_length=1)
    """Those that are read."""
    filter: bool = True
    """Leave out what the paper's filter leaves out: samples that a quarter of its models answer at first sight."""
    upstream_rule: bool = False
    """Match texts, count moves and read verdicts as published, faults included."""
    hint: bool = False
    """Say after the question which move could help."""
    history: bool = False
    """Show the earlier steps of a sample, with their images."""
    examples: int = Field(default=0, ge=0, le=8)
    """Solved samples that are shown before the question, in ROD and MVP-N alone, as published."""
    cot: bool = False
    """Have the model reason before it answers."""
    control: bool = False
    """Offer moves of other environments: who asks on purpose asks less."""
    reference: bool = False
    """Show the clear image, and no moves: the most that can be expected."""
    longest: int = Field(default=LONGEST, ge=32, le=8192)
    """Pixels of an image's longer side, to which it is scaled down."""
    ask_reward: float = Field(default=0.5, ge=0, le=1)
    """Reward of a step that asks rightly, where the right category has 1: what a compile raises."""
    baseline: Literal["none", "guess", "abstain", "ask", "random", "oracle", "late-oracle"] = "none"  # pyright: ignore[reportIncompatibleVariableOverride] - frozen
    """A rule that sees no image: guess, abstain, ask and random draw an option of that kind or any; oracle gives the
    right category as soon as it counts, late-oracle after all right moves."""
    seed: int = Field(default=0, ge=0)
    """Seed of what a baseline draws."""

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Settings without effect, each with the setting that makes it so."""
        draws = self.baseline in ("guess", "abstain", "ask", "random")
        unused: dict[str, str] = {} if draws else {"seed": f"baseline={self.baseline}"}
        if self.baseline != "none":
            unused |= dict.fromkeys(_OF_MODEL, f"baseline={self.baseline}")
        elif self.program == "open":
            unused |= dict.fromkeys((*_OF_MOVES, "reference"), "program=open")
        return unused | (dict.fromkeys((*_OF_MOVES, "hint"), "reference=true") if self.reference else {})


class Sample(Frozen):
    """An entry as it is played. All of it is known to the environment; a model is shown a step at a time."""

    environment: Name
    entry: Entry
    examples: tuple[Entry, ...] = ()
    """Others that are shown solved."""
    images: Any = Field(None, exclude=True, repr=False)
    """`corpus.Images`, in no file; None where it is read from one."""

    def played(self, settings: ProactiveBenchSettings, entry: Entry | None = None) -> Environment:
        """The environment of its entry, or of another one of the same environment."""
        made = settings.upstream_rule, settings.reference, settings.control
        return Environment(WORLDS[self.environment], entry or self.entry, *made)


class Step(Frozen):
    """What was shown and said at a step; of the image there is its name."""

    image: str
    sha256: str | None = None
    """Of the image's file; None where it was not read."""
    crop: Box | None = None
    """The part that was shown; None for all of it."""
    options: tuple[str, ...] = ()
    """In the order of their letters; none where the answer was open."""
    text: str
    outcome: StepOutcome | None = None
    """None of an open answer."""

    @classmethod
    def taken(cls, made: Environment, state: State, text: str, sha256: str | None = None) -> tuple[Self, State]:
        """The step at which a text was said, and the state after it."""
        after, outcome = made.step(state, text)
        shown = {"options": made.shown(state), "text": text, "outcome": outcome}
        return cls(image=made.path(state), sha256=sha256, crop=made.crop(state), **shown), after


class Trajectory(Frozen):
    """An answer: its steps."""

    steps: tuple[Step, ...] = Field(min_length=1)


class TrajectoryGrade(Frozen):
    """How a trajectory ended, or what an open answer gives."""

    ended: str
    given: Mapping[str, bool] = Field(default_factory=dict[str, bool])
    """By a right answer, whether the judge found it in an open answer."""


def by_rule(case: Case, settings: ProactiveBenchSettings) -> Trajectory:
    """The trajectory of a baseline: what it draws follows from seed, key and step, whatever the order of the cases."""
    made, steps = case.view_as(Sample).played(settings), list[Step]()
    state = made.start
    while not state.stopped:
        text = drawn(f"{settings.seed}/{case.key}/{state.turns}", _wanted(made, state, settings.baseline))
        step, state = Step.taken(made, state, text)
        steps.append(step)
    return Trajectory(steps=tuple(steps))


def _wanted(made: Environment, state: State, baseline: str) -> Sequence[str]:
    """What a baseline draws from: the categories where nothing of its kind is offered."""
    shown, categories, moves = made.shown(state), made.entry.categories, made.right_moves(state)
    if baseline in ("oracle", "late-oracle"):
        early = not (state.turns or made.reference or made.world.category_at_first)
        late = baseline == "late-oracle" and state.turns + 1 < made.max_steps
        return moves if moves and (early or late) else (made.entry.answer,)
    offered = shown[: -len(categories)]
    refusals = [option for option in offered if abstains(option)]
    asks = [option for option in offered if not abstains(option)]
    return {"abstain": refusals, "ask": asks, "random": shown}.get(baseline) or categories


def right_answers(made: Environment) -> tuple[list[str], int]:
    """What an open answer may give, moves first, and how many of it are moves."""
    world = made.world
    moves = [*(made.right_moves(made.start) if world.name in ("IN-C", "CIT") else ()), *world.asks]
    return [*moves, *((made.entry.answer,) if world.open_category else ())], len(moves)


def graded(case: Case, answer: Trajectory, settings: ProactiveBenchSettings) -> Scored[TrajectoryGrade]:
    """The grade of a trajectory: 1 where it ended with the right category.

    `asks`, `abstains` and `guesses` are shares of its steps, `useful` is the share of asks that changed the picture,
    where there are any, and `blind` tells whether it asked until the limit. Other parts are as they are called.
    """
    outcomes = [step.outcome for step in answer.steps if step.outcome]
    turns, last, acts = len(outcomes), outcomes[-1], [outcome.act for outcome in outcomes]
    right_moves, solved = sum(outcome.action is not None for outcome in outcomes), last.category_evaluation == "correct"
    blind = last.act == "ask" and turns == case.view_as(Sample).played(settings).max_steps
    parts = {
        "interventions": float(turns - 1 if settings.upstream_rule else right_moves),  # published without a last move
        "asks": acts.count("ask") / turns,
        "abstains": acts.count("abstain") / turns,
        "guesses": acts.count("guess") / turns,
        **({"useful": (turns - 1) / acts.count("ask")} if "ask" in acts else {}),
        "blind": float(blind),
        "step_reward": (right_moves * settings.ask_reward + solved) / turns,
    }
    guess = f"with the {'right' if solved else 'wrong'} category"
    ends = {"guess": guess, "abstain": "with an abstention", "ask": "with a move", "none": "with nothing on offer"}
    ended = "by asking until the limit" if blind else ends[last.act]
    return Scored(float(solved), RIGHT if solved else WRONG, TrajectoryGrade(ended=ended), parts=parts)


def graded_open(case: Case, verdicts: Sequence[bool], settings: ProactiveBenchSettings) -> Scored[TrajectoryGrade]:
    """The grade of an open answer by what it gives of the right ones: 1 where that is anything."""
    listed, moves = right_answers(case.view_as(Sample).played(settings))
    parts = {"asking": float(any(verdicts[:moves])), "category": float(any(verdicts[moves:]))}
    detail = TrajectoryGrade(ended="with an open answer", given=dict(zip(listed, verdicts, strict=True)))
    return Scored(float(any(verdicts)), RIGHT if any(verdicts) else WRONG, detail, parts=parts)
