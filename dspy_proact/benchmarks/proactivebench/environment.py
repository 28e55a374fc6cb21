"""ProactiveBench's environments: the world that an entry tells of, and how moves change it.

The published rule has faults that decide some trajectories. It is kept under `upstream`, for scores that are compared
with published ones. The clear rule differs in four points: a text is matched with the options as they stand before a
letter is read; letters may have brackets, asterisks or a colon; a move at the last step counts as an intervention; and
a crop is as wide as it can be where it has grown by its steps, whatever rounding says.

Both rules count the right category as wrong at the first step of ROD, as published.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dspy_proact.benchmarks.proactivebench.entries import ACTIONS, WORLDS, Entry, World, abstains
from dspy_proact.benchmarks.proactivebench.lettered import chosen
from dspy_proact.evaluation.ruled import drawn
from dspy_proact.images import Box
from dspy_proact.types import Frozen

Evaluation = Literal["correct", "wrong", "mismatch"]
Act = Literal["ask", "abstain", "guess", "none"]
"""What a text does: choose a move, an abstention, a category, or nothing that is offered."""
_BROKEN, _BEFORE, _AFTER = (f"natural_bluebl_greenr-banana-s{number}" for number in (6, 5, 7))
"""An image that is broken in the published corpus, and its neighbours, which moves lead to in its place."""
_CUT = re.compile(r".*[A-Z]\.\s*")


@dataclass(frozen=True)
class State:
    """Where a trajectory stands."""

    image: int
    """Number of the image, by the entry's count."""
    turns: int = 0
    """Texts so far."""
    last: str | None = None
    """Action of the last move."""
    across: int = 0
    """Moves of the camera to the left, to the right or backwards so far; `along` likewise up, down or backwards."""
    along: int = 0
    stopped: bool = False


class StepOutcome(Frozen):
    """How a text is understood."""

    action_evaluation: Evaluation
    category_evaluation: Evaluation
    act: Act
    option: str | None = None
    """The one that was chosen."""
    action: str | None = None
    """Of a right move."""


@dataclass(frozen=True)
class Environment:
    """The world that an entry tells of."""

    world: World
    entry: Entry
    upstream: bool = False
    """Judge as published."""
    reference: bool = False
    """Show the clear image, and the categories alone, for one step."""
    control: bool = False
    """Offer moves of other environments; a hash decides which action of this one each of them does."""

    @property
    def start(self) -> State:
        """Before the first text."""
        return State(self.entry.first_image)

    @property
    def max_steps(self) -> int:
        """Texts after which a trajectory stops at the latest."""
        entry, granularity = self.entry, self.entry.granularity or 1
        if self.world.name == "COCO":
            return granularity + 1 if entry.ways == ("zoom",) else granularity * len(entry.ways)
        return (entry.max_steps or 1) if self.world.name == "CIT" else entry.num_images

    def question(self, hint: bool = False) -> str:
        """What is asked at every step."""
        world, own = self.world, self.reference and self.world.reference_question
        about = (world.zoom_hint if self.entry.direction == "zoom" else "") or world.hint
        return " ".join(text for text in (world.preface, own or self.entry.prompt, about if hint else "") if text)

    def shown(self, state: State) -> tuple[str, ...]:
        """The options of a step in the order of their letters: moves and abstentions, then the categories."""
        return (*self._offered(state), *self.entry.categories)

    def path(self, state: State) -> str:
        """Path of the image that a step shows."""
        number = self.entry.reference_image if self.reference else state.image
        clear = int(self.reference or self._at_last(state))
        path = self.entry.image_template.replace("{image}", f"{number:0{self.world.digits}}")
        path = path.replace("{level}", str(number)).replace("{informative}", str(clear))
        return path if self.reference else path.replace(_BROKEN, _BEFORE if state.last == "left" else _AFTER)

    def crop(self, state: State) -> Box | None:
        """The part of the image that a step shows; None for all of it."""
        crop, ways = self.entry.crop, self.entry.ways
        if self.world.name != "COCO" or crop is None or self.reference:
            return None
        zoom, (across, along) = "zoom" in ways, self._grown(state)
        left = crop.left - across if zoom or "left" in ways else crop.left
        top = crop.top - along if zoom or "up" in ways else crop.top
        right = crop.width + across if zoom or "right" in ways else crop.width
        bottom = crop.height + along if zoom or "down" in ways else crop.height
        return (left, top, right + crop.left, bottom + crop.top) if zoom else (left, top, right, bottom)

    def right_moves(self, state: State) -> tuple[str, ...]:
        """The moves that are right at a step."""
        moves = [] if self._at_last(state) else [option for option in self._offered(state) if not abstains(option)]
        only = self.entry.quality_answer if self.world.name == "IN-C" and not self.control else None
        return tuple(move for move in moves if only in (None, move))

    def step(self, state: State, text: str) -> tuple[State, StepOutcome]:
        """The state after a text, and how the text is understood; the trajectory must not have stopped."""
        assert not state.stopped, "a trajectory that has stopped takes no text"
        offered, moves, entry = self._offered(state), self.right_moves(state), self.entry
        early = not (state.turns or self.reference or self.world.category_at_first)
        right = () if early else (entry.answer,)
        if self.upstream:
            move = _published(text, offered, moves, 0)
            category = _published(text, entry.categories, right, len(offered))
        else:
            option = chosen(text, self.shown(state))
            move, category = (option, None) if option in offered else (None, option)
        on_move, on_category = _evaluated(move, moves), _evaluated(category, right)
        action = None
        if move is not None and on_move == "correct" and on_category != "correct":
            key, own = f"{self.world.name}/{entry.id}/{state.turns}", self.world.actions_of(move)
            category, action = None, drawn(key, self._possible) if self.control else own.pop()
        option = move if category is None else category
        act = "none" if option is None else "guess" if category else "abstain" if abstains(option) else "ask"
        outcome = StepOutcome(
            action_evaluation=on_move, category_evaluation=on_category, act=act, option=option, action=action
        )
        after = self.moved(state, action) if action else None
        return after or replace(state, turns=state.turns + 1, stopped=True), outcome

    def moved(self, state: State, action: str) -> State | None:
        """The state after a right move; None where the limit of steps or the end of a video stops the trajectory."""
        world, count, valid = self.world, self.entry.num_images, self.entry.valid_images
        number, turns = state.image, state.turns + 1
        if turns >= self.max_steps or (valid is not None and turns >= len(valid)):
            return None
        if valid is not None:
            number = valid[turns]
        elif world.name != "COCO":
            step = (self.entry.step_size or 1) if world.name == "CIT" else 1
            number += -step if action in world.backward else step
            if world.name == "CIT" and not 0 <= number < count:
                return None
        across = state.across + (action in ("left", "right", "zoom"))
        along = state.along + (action in ("up", "down", "zoom"))
        return State(number % count if world.circular else number, turns, action, across, along)

    @property
    def _possible(self) -> list[str]:
        """Actions of its own that a move may do: in COCO those of the entry's direction."""
        ways = set(self.entry.ways) if self.world.name == "COCO" else set(self.world.actions)
        return sorted(ways & set(self.world.actions))

    def _at_last(self, state: State) -> bool:
        return self.world.category_at_last and state.turns + 1 >= self.entry.num_images

    def _offered(self, state: State) -> tuple[str, ...]:
        options, spent = self.entry.options, set[str]()
        if self.reference:
            return ()
        if self.control:
            return options
        if self.world.name == "CIT":
            step = self.entry.step_size or 1
            late = state.image + step >= self.entry.num_images
            if state.image - step < 0:
                spent, late = {"rewind"}, late and not self.upstream
            spent |= {"forward"} if late else set()
            if self.upstream and spent and all(abstains(o) or not self.world.actions_of(o) & spent for o in options):
                return options[:-1]
        elif self.world.name == "COCO":
            spent = self._spent(state)
        return tuple(option for option in options if abstains(option) or not self.world.actions_of(option) & spent)

    def _grown(self, state: State) -> tuple[float, float]:
        """Pixels by which the crop is wider and higher than the entry's: by one step at the start already."""
        entry = self.entry
        grow = _regrown if self.upstream else lambda step, moves: step * (moves + 1)
        return grow(entry.horizontal_step or 0.0, state.across), grow(entry.vertical_step or 0.0, state.along)

    def _spent(self, state: State) -> set[str]:
        """The directions in which the crop grows no further."""
        entry, ways, (wide, high) = self.entry, set(self.entry.ways), self._grown(state)
        steps = (entry.granularity or 1) + ("zoom" in ways)
        most_wide = (entry.horizontal_step or 0.0) * steps if ways & {"left", "right", "zoom"} else 0.0
        most_high = (entry.vertical_step or 0.0) * steps if ways & {"up", "down", "zoom"} else 0.0
        back = wide == most_wide if self.upstream else wide >= most_wide  # floats, which may miss each other
        spent = {"left": wide >= most_wide, "up": high >= most_high, "zoom": back}
        return {name for name, gone in (spent | {"right": spent["left"], "down": spent["up"]}).items() if gone}


def controlled(world: World, entry: Entry) -> Entry:
    """The entry with moves of other environments in place of its own; those of others that it has stay."""
    others = {name for other in WORLDS.values() for name in other.actions} - set(world.actions)
    foreign = sorted(ACTIONS[name].foreign for name in others)
    foreign = [move for move in foreign if not world.actions_of(move)]
    options = list[str]()
    for option in entry.options:
        own = not abstains(option) and world.actions_of(option)
        left = [move for move in foreign if move not in options]
        options.append(drawn(f"{world.name}/{entry.id}/{len(options)}", left) if own else option)
    return entry.model_copy(update={"options": tuple(options)})


def _published(text: str, options: Sequence[str], right: Sequence[str], first: int) -> str | None:
    """The option of a list that a text chooses as published; the list's letters begin at `first`, counted from 0.

    Those that are `right` count before the others: the cut may make several equal.
    """
    compared, letter = _cut(text), text.partition(".")[0].lower().strip()
    for option in sorted(options, key=lambda option: option not in right):
        if _cut(option) == compared:
            return option
    index = ord(letter) - ord("a") - first if len(letter) == 1 else -1
    return options[index] if 0 <= index < len(options) else None


def _cut(text: str) -> str:
    """What upstream compares: without what stands before the last capital with a dot, even within an answer."""
    return (text[cut.end() :] if (cut := _CUT.match(text)) else text).lower().strip().replace(" ", "")


def _evaluated(option: str | None, right: Sequence[str]) -> Evaluation:
    return "mismatch" if option is None else "correct" if option in right else "wrong"


def _regrown(step: float, moves: int) -> float:
    """A step after so many moves, multiplied and divided in upstream's order."""
    for number in range(1, moves + 1):
        step = step / number * (number + 1)
    return step
