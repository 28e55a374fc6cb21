"""What a person writes down before tasks are made: the sections of `brief.toml`, one class each.

The line under a field is the comment above it in a file that is written for a person.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from dspy_proact.errors import UsageError
from dspy_proact.files.personas import Persona, bundled_personas, names_a_file, personas_in, personas_of
from dspy_proact.files.toml import changed_field, document_of, parse_toml, read_text
from dspy_proact.types import Frozen

_MOST_CHARACTERS = 40_000
"""Of the text about the work, which stands in several requests a person: some 10,000 tokens."""
_INVENTED = "invented"
_FOLLOWED = ("tasks.difficulty", "tasks.per_person", "tasks.distractors")
"""What the stand-in can follow."""


def _text(text: str) -> str:
    if not (text := text.strip()):
        raise ValueError("should not be blank; write it")
    return text


def _short(text: str) -> str:
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters and stands in requests; keep {_MOST_CHARACTERS:,} at most")
    return text


def _personas(named: Any) -> Any:
    if isinstance(named, str) and (named.strip() == _INVENTED or names_a_file(named.strip())):
        return named.strip()
    if not (isinstance(named, list) and named and all(isinstance(text, str) and text.strip() for text in named)):
        raise ValueError('should be "invented", the name of a file, or a list of texts that are not blank')
    return named


Text = Annotated[str, AfterValidator(_text)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=40)]
_SECTION = ConfigDict(strict=True, use_attribute_docstrings=True)


class WorkSection(Frozen):
    """The line of work."""

    model_config = _SECTION

    name: Text
    """Name of the organisation, or of its kind."""
    text: Annotated[Text, AfterValidator(_short)]
    """How work goes there: who depends on whom, what waits for what, which rules bind. It is quoted to models, and
    never obeyed."""
    roles: Texts
    """Roles that people have in it; those whose tasks are made take turns through them."""
    systems: Texts
    """Tools, systems and lists that are in use."""
    documents: Texts
    """Kinds of documents that are in use."""
    bottlenecks: Texts
    """What a bottleneck is there: kinds of work that stands still though somebody could set it going."""


class PeopleSection(Frozen):
    """Who works there."""

    model_config = _SECTION

    who: Text
    """The people whose mail, calendars and documents are made, and what they answer for."""
    personas: Annotated[str | list[str], BeforeValidator(_personas)] = _INVENTED
    """Personas: "invented" (12, bundled), a file with a text for each (.txt, .csv or .jsonl), or a list of texts."""


class TasksSection(Frozen):
    """What the tasks are like."""

    model_config = _SECTION

    language: Text = "English"
    """Language of all items; any that the models write."""
    difficulty: Literal["easy", "medium", "hard", "mixed"] = "mixed"
    """"easy", "medium" or "hard"; with "mixed" people take turns."""
    per_person: Annotated[int, Field(ge=1, le=6)] = 3
    """Tasks of a person, each with a bottleneck of its own (1 to 6)."""
    distractors: Annotated[int, Field(ge=10, le=200)] = 50
    """Items of a person that are no evidence, which lie in each of the person's tasks (10 to 200)."""


class ProbeBrief(Frozen):
    """A brief: what tasks are made from."""

    model_config = _SECTION

    work: WorkSection
    people: PeopleSection
    tasks: TasksSection = TasksSection()

    def personas(self) -> Sequence[Persona]:
        """Those whom it names, in their order."""
        named = self.people.personas
        return _invented() if isinstance(named, str) else personas_of(named)

    def with_personas(self, folder: Path) -> "ProbeBrief":
        """The brief with the personas of a file that it names, which is relative to a folder."""
        if texts := personas_in(self.people.personas, folder):
            return self.model_copy(update={"people": self.people.model_copy(update={"personas": texts})})
        return self

    def in_language(self, language: str | None) -> "ProbeBrief":
        """The brief for items in another language, itself where none is named; `UsageError` for a blank one."""
        if language is None:
            return self
        if not language.strip():
            raise UsageError("`language` is blank; name one, such as German")
        return self.model_copy(update={"tasks": self.tasks.model_copy(update={"language": language.strip()})})


def brief_of(named: "ProbeBrief | str | Path | None", language: str | None = None) -> ProbeBrief:
    """A brief that was read, the one in a file, or the bundled one, in another language where one is named.

    A file of personas that a brief names is relative to the brief's file, or else to the working folder. Raises a
    `CorpusError` with file, line and field where something is not as it must be.
    """
    if named is None:
        return bundled_brief().in_language(language)
    if isinstance(named, ProbeBrief):
        return named.with_personas(Path()).in_language(language)
    path = Path(named)
    read = parse_toml(read_text(path, "a brief, as docs/generate.md shows one"), ProbeBrief, str(path))
    return read.with_personas(path.parent).in_language(language)


def beyond_stand_in(brief: ProbeBrief) -> str | None:
    """The first field that differs from the bundled brief, from which alone the stand-in writes; None where none does.

    How many tasks, how difficult and among how many items is another matter.
    """
    return changed_field(brief, bundled_brief(), _FOLLOWED)


def brief_text(brief: ProbeBrief) -> str:
    """The brief as a file that a person reads and edits, with comments."""
    return document_of(brief, "What a corpus is made from. Edit it: everything that the tasks rest on stands here.")


def bundled_brief() -> ProbeBrief:
    """That of an invented seed bank."""
    return parse_toml(_data("brief.toml"), ProbeBrief, "the bundled brief")


@cache
def _invented() -> Sequence[Persona]:
    return bundled_personas(_data("personas.txt").splitlines())


def _data(name: str) -> str:
    return files("dspy_proact.benchmarks.probe").joinpath("data/generation", name).read_text("utf-8")
