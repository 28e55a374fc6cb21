"""What a person writes down before a corpus is made: the sections of `brief.toml`, one class each.

The line under a field is the comment above it in a file that is written for a person.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from dspy_proact.benchmarks.proactbench.corpus.personas import require_known
from dspy_proact.errors import UsageError
from dspy_proact.evidence import words_of
from dspy_proact.files.personas import personas_in
from dspy_proact.files.toml import changed_field, document_of, parse_toml, read_text
from dspy_proact.programs.embedded.words import content_words
from dspy_proact.types import Frozen

STYLES = range(1, 25)
_FOLLOWED = ("dialogue.turns", "dialogue.styles")
"""What the stand-in can follow."""
_MOST_CHARACTERS = 100_000
"""Of the product's text, which stands in most requests: some 25,000 tokens."""


def _text(text: str) -> str:
    if not (text := text.strip()):
        raise ValueError("should not be blank; write it")
    return text


def require_short(text: str) -> str:
    """A product's text; raises a `ValueError` where it is too long to stand in requests."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(
            f"has {len(text):,} characters and stands in most requests; keep what the corpus is about, "
            f"{_MOST_CHARACTERS:,} at most"
        )
    return text


def _styles(named: Any) -> Any:
    numbers = named if isinstance(named, list) else []
    known = numbers and all(type(number) is int and number in STYLES for number in numbers)
    if named not in ("csi", "none") and not (known and len(set(numbers)) == len(numbers)):
        raise ValueError(
            f'{named!r} is not known; give "csi" for all 24 styles, a list of different numbers from 1 to 24, or "none"'
        )
    return named


def _personas(named: Any) -> Any:
    if isinstance(named, str):
        return require_known(named.strip())
    if not (isinstance(named, list) and named and all(isinstance(text, str) and text.strip() for text in named)):
        raise ValueError('should be "invented", "nemotron", the name of a file, or a list of texts that are not blank')
    return named


def _run(text: str) -> str:
    """The words of a text between blanks, those of languages without blanks too."""
    return f" {' '.join(words_of(text))} "


Text = Annotated[str, AfterValidator(_text)]
Styles = Annotated[Literal["csi", "none"] | list[int], BeforeValidator(_styles)]
_SECTION = ConfigDict(strict=True, use_attribute_docstrings=True)


class ProductSection(Frozen):
    """What the assistant is for."""

    model_config = _SECTION

    name: Text
    """Name of the product."""
    text: Annotated[Text, AfterValidator(require_short)]
    """What its assistant knows, such as a help page or a price list. It is quoted to models, and never obeyed."""
    rules: list[Text] = Field(default_factory=list[Text])
    """Rules that its assistant keeps to, a sentence each."""


class UsersSection(Frozen):
    """Who comes."""

    model_config = _SECTION

    who: Text
    """The people who write to the assistant, and what for."""
    personas: Annotated[str | list[str], BeforeValidator(_personas)] = "invented"
    """Personas: "invented" (24, bundled), "nemotron" (nvidia/Nemotron-Personas-USA, fetched), a file with a text
    for each (.txt, .csv or .jsonl), or a list of texts."""


class PlantSection(Frozen):
    """What users may disclose in passing."""

    model_config = _SECTION

    may: Annotated[list[Text], Field(min_length=1)]
    """Kinds of fact from which something follows for the product."""
    domains: Annotated[list[Text], Field(min_length=1)]
    """Parts of life that the facts come from; dialogues take turns through them."""


class NeverSection(Frozen):
    """What no assistant of the product may do, and no rubric may ask for."""

    model_config = _SECTION

    offers: list[Text] = Field(default_factory=list[Text])
    """Offers that are forbidden, a sentence each."""


class DialogueSection(Frozen):
    """What the dialogues are like."""

    model_config = _SECTION

    language: Text = "English"
    """Language of the dialogues; any that the models write."""
    styles: Styles = "csi"
    """Styles of the users' messages: "csi" for the 24 of the Communication Styles Inventory, numbers of some of them,
    such as [1, 5, 12], or "none"."""
    turns: Annotated[int, Field(ge=8, le=10)] = 9
    """Turns of a dialogue, at most (8 to 10)."""


class CorpusBrief(Frozen):
    """A brief: what a corpus is made from."""

    model_config = _SECTION

    product: ProductSection
    users: UsersSection
    plant: PlantSection
    never: NeverSection = NeverSection()
    dialogue: DialogueSection = DialogueSection()

    @model_validator(mode="after")
    def _contradict_nothing(self) -> Self:
        facts = [(fact, content_words(fact), _run(fact)) for fact in self.plant.may]
        for offer in self.never.offers:
            words, run = content_words(offer), _run(offer)
            clashes = (
                fact for fact, of, fact_run in facts if (words and words <= of) or (run.strip() and run in fact_run)
            )
            if clash := next(clashes, None):
                raise ValueError(
                    f"plant.may has {clash!r}, which never.offers forbids with {offer!r}; take it out of one of them"
                )
        return self

    def with_personas(self, folder: Path) -> "CorpusBrief":
        """The brief with the personas of a file that it names, which is relative to a folder."""
        if texts := personas_in(self.users.personas, folder):
            return self.model_copy(update={"users": self.users.model_copy(update={"personas": texts})})
        return self

    def in_language(self, language: str | None) -> "CorpusBrief":
        """The brief for dialogues in another language, itself where none is named; `UsageError` for a blank one."""
        if language is None:
            return self
        if not language.strip():
            raise UsageError("`language` is blank; name one, such as German")
        dialogue = self.dialogue.model_copy(update={"language": language.strip()})
        return self.model_copy(update={"dialogue": dialogue})


def brief_of(named: "CorpusBrief | str | Path | None", language: str | None = None) -> CorpusBrief:
    """A brief that was read, the one in a file, or the bundled one, in another language where one is named.

    A file of personas that a brief names is relative to the brief's file, or else to the working folder.
    """
    if isinstance(named, CorpusBrief):
        return named.with_personas(Path()).in_language(language)
    return (_bundled() if named is None else read_brief(Path(named))).in_language(language)


def _bundled() -> CorpusBrief:
    text = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation/brief.toml").read_text("utf-8")
    return parse_toml(text, CorpusBrief, "the bundled brief")


def beyond_stand_in(brief: CorpusBrief) -> str | None:
    """The first field that differs from the bundled brief, from which alone the stand-in writes; None where none does.

    How long dialogues are, and in which styles users write, is another matter.
    """
    return changed_field(brief, _bundled(), _FOLLOWED)


def read_brief(path: Path) -> CorpusBrief:
    """The brief in a file, with the personas of a file that it names, which is beside it.

    Raises a `CorpusError` with file, line and field where something is not as it must be.
    """
    text = read_text(path, "a brief, as `generate brief` writes one")
    return parse_toml(text, CorpusBrief, str(path)).with_personas(path.parent)


def brief_text(brief: CorpusBrief, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """The brief as a file that a person reads and edits, with comments; `notes` stand after the entries of a list."""
    heading = "What a corpus is made from. Edit it: everything that the dialogues rest on stands here."
    return document_of(brief, heading, notes)
