"""An entry of ProactiveBench's corpus, and its environment (De Min et al. 2026, arXiv 2603.19466; package 0.1.1)."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Annotated, Literal, get_args

from pydantic import Field

from dspy_proact.benchmarks.proactivebench.lettered import plain
from dspy_proact.files.rows import Id, Line, RawPart, Text
from dspy_proact.plain_text import shown
from dspy_proact.types import Frozen

Name = Literal["ROD", "VSOD", "MVP-N", "IN-C", "QD", "CIT", "COCO"]
NAMES: tuple[Name, ...] = get_args(Name)
"""Of the environments, in the order of the paper's tables."""
FOLDER = files("dspy_proact.benchmarks.proactivebench") / "data"
_DIRECTIONS = ("left", "right", "up", "down")
_MOST_OPTIONS = 26
"""One a letter."""


class Action(Frozen):
    """What a move can do."""

    keys: tuple[str, ...]
    """One of them stands in the text of such a move, in lower case."""
    foreign: str
    """The move as it is offered in other environments under the control."""


class World(Frozen):
    """What holds for all entries of an environment."""

    name: Name
    loader: str
    """Name of its file and of its list in the filter."""
    actions: tuple[str, ...]
    hint: str
    zoom_hint: str = ""
    """In place of the hint where the camera moves backwards."""
    preface: str = ""
    """What is said before the question."""
    reference_question: str = ""
    """In place of the entry's where the clear image is shown."""
    backward: tuple[str, ...] = ()
    """Actions that lead to an image of a lower number; the others lead to a higher one."""
    circular: bool = False
    """Whether the first image follows the last."""
    digits: int = 1
    """To which the number of an image is padded in its path."""
    category_at_first: bool = True
    """Whether the category is right at the first step."""
    category_at_last: bool = False
    """Whether the category alone is right at the last step."""
    slots: tuple[str, ...] = ("image",)
    """That the template of its paths has."""
    required: tuple[str, ...] = ()
    """Fields that its entries have beside those of all."""
    asks: tuple[str, ...] = ()
    """What an open answer may propose, beside the moves of the entry."""
    open_category: bool = True
    """Whether an open answer may name the category."""

    def actions_of(self, option: str) -> set[str]:
        """Its actions that an option names."""
        return {name for name in self.actions if any(key in option.lower() for key in ACTIONS[name].keys)}


_DATA = tomllib.loads((FOLDER / "worlds.toml").read_text(encoding="utf-8"))
ACTIONS: Mapping[str, Action] = {name: Action.model_validate(action) for name, action in _DATA["actions"].items()}
WORLDS: Mapping[Name, World] = {world.name: world for world in map(World.model_validate, _DATA["worlds"])}

_Texts = Annotated[tuple[Text, ...], Field(strict=False)]
_Count = Annotated[int, Field(ge=1, le=10_000)]
_Number = Annotated[int, Field(ge=0, le=1_000_000)]
_Step = Annotated[float, Field(ge=0, le=10_000)]
_Pixels = Annotated[float, Field(ge=-100_000, le=100_000)]


class Crop(Frozen):
    """The area that a crop grows from; width and height are its right and bottom edges, but sizes under zoom."""

    top: _Pixels
    left: _Pixels
    height: _Pixels
    width: _Pixels


class Entry(Frozen):
    """A question about an image, and how the image changes."""

    id: _Number
    prompt: Text
    options: _Texts
    """Moves and abstentions."""
    categories: _Texts
    answer: Text
    image_template: Id
    first_image: _Number
    num_images: _Count
    reference_image: _Number
    valid_images: Annotated[tuple[_Number, ...], Field(strict=False)] | None = None
    quality_answer: Text | None = None
    step_size: _Count | None = None
    max_steps: _Count | None = None
    direction: str | None = None
    granularity: Annotated[int, Field(ge=1, le=100)] | None = None
    horizontal_step: _Step | None = None
    vertical_step: _Step | None = None
    crop: Crop | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """Directions in which the camera moves, or `zoom`."""
        return tuple((self.direction or "").split("_"))


class RawEntry(Entry, RawPart):
    """A line of a corpus."""

    strong_occlusions: bool | None = None
    """False where what is asked is seen well; such entries are left out."""

    def checked(self, line: Line, world: World, foreign: bool = False) -> Entry:
        """The entry, with `foreign` moves if allowed; a `CorpusError` of the `line` where fields do not fit."""
        entry = Entry.model_validate(self.model_dump(include=set(Entry.model_fields)))
        for field, problem in _misfits(entry, world, foreign):
            raise line.error(problem, field)
        return entry


def abstains(option: str) -> bool:
    """Whether an option says that there is no answer."""
    return any(refusal in option.lower() for refusal in ("cannot", "do not"))


def _misfits(entry: Entry, world: World, foreign: bool) -> Iterator[tuple[str, str]]:
    if missing := [name for name in world.required if getattr(entry, name) is None]:
        yield missing[0], "the field is missing"
        return
    offered, moves = [*entry.options, *entry.categories], [option for option in entry.options if not abstains(option)]
    texts = list(map(plain, offered))
    if twice := next((option for option, text in zip(offered, texts, strict=True) if texts.count(text) > 1), None):
        yield "options", f"{shown(twice)} is offered twice"
    if len(entry.categories) < 2 or len(offered) > _MOST_OPTIONS:
        yield "categories", f"there must be 2 of them, and at most {_MOST_OPTIONS} with the options"
    if entry.answer not in entry.categories:
        yield "answer", f"{shown(entry.answer)} is none of the categories"
    for move in () if foreign else moves:
        if len(named := sorted(world.actions_of(move))) != 1:
            yield "options", f"the move {shown(move)} must name one action, and names {' and '.join(named) or 'none'}"
    if world.name == "IN-C" and not foreign and entry.quality_answer not in moves:
        yield "quality_answer", f"{shown(entry.quality_answer)} is none of the moves"
    if entry.valid_images is not None and len(entry.valid_images) < entry.num_images:
        yield "valid_images", f"has {len(entry.valid_images)} of {entry.num_images} images"
    yield from _unmovable(entry) if world.name == "COCO" else ()
    slots = re.findall(r"\{.*?\}|[{}]", entry.image_template)
    if sorted(slots) != sorted(f"{{{slot}}}" for slot in world.slots):
        wanted = " and ".join(f"{{{slot}}}" for slot in world.slots) or "no slot"
        yield "image_template", f"{shown(entry.image_template)} must have {wanted}"


def _unmovable(entry: Entry) -> Iterator[tuple[str, str]]:
    ways = set(entry.ways)
    if entry.ways != ("zoom",) and not (ways <= set(_DIRECTIONS) and len(ways) == len(entry.ways) <= 2):
        yield "direction", f"{shown(entry.direction)} is neither zoom nor one or two of {', '.join(_DIRECTIONS)}"
    if not entry.horizontal_step and ways & {"left", "right", "zoom"}:
        yield "horizontal_step", "is 0, so that nothing would change"
    if not entry.vertical_step and ways & {"up", "down", "zoom"}:
        yield "vertical_step", "is 0, so that nothing would change"
