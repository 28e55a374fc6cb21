"""A compiled program as one JSON file: what its predictors learned, how it is asked, and its card.

DSPy's own state is positional and sets what it finds as attributes. This envelope has exact keys, the hash of the
declared signatures, and no model. No pickle is read. A checksum binds everything in it, so that no field can be changed
by itself; it proves nothing about who wrote the file.
"""

import hashlib
import json
import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast

import dspy
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from dspy_proact.errors import UsageError
from dspy_proact.kept import Kind, content_of, first_fault, open_to_read, read_contents, require_finite, write_file
from dspy_proact.programs.asking import SYSTEM, image_inputs
from dspy_proact.programs.card import Card
from dspy_proact.types import Frozen

FORMAT = 3
_OTHER_FORMAT = re.compile(rb'\s*\{\s*"format"\s*:\s*(?!%d\b)(\d+)' % FORMAT)
ProgramRole = Literal["assistant", "judge"]
Module = TypeVar("Module", bound=dspy.Module)


class FieldState(Frozen):
    """A field's words, by its place."""

    prefix: str
    description: str


class SignatureState(Frozen):
    """A signature's words."""

    instructions: str
    fields: tuple[FieldState, ...]


class PredictorState(Frozen):
    """What a predictor learned."""

    traces: tuple[()] = ()
    train: tuple[()] = ()
    demos: tuple[dict[str, Any], ...]
    signature: SignatureState
    lm: None = None
    """A program is given its model where it runs."""


class Cuts(Frozen):
    """From where on the mean level of several verdicts is the middle level, and the best one; the worst has level 0."""

    partial: float = Field(ge=0, le=2)
    full: float = Field(ge=0, le=2)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.partial < self.full:
            raise ValueError(f"the upper cut, {self.full:g}, does not lie above the lower one, {self.partial:g}")
        return self


class Learned(Frozen):
    """What a program has learned."""

    states: dict[str, PredictorState]
    """By predictor."""
    cuts: dict[str, Cuts] = Field(default_factory=dict[str, Cuts])
    """Of a judge, by stratum; where there are none, the commonest label holds."""


class Artefact(Frozen):
    """A compiled program, and what its compile showed."""

    format: Literal[3] = FORMAT
    signature: str
    """sha256 of the declared signatures: names, order, types and descriptions of their fields."""
    benchmark: str
    role: ProgramRole
    program: str
    """Name of its class."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Of the benchmark, by which the program is built."""
    states: dict[str, PredictorState]
    """By predictor."""
    cuts: dict[str, Cuts] = Field(default_factory=dict[str, Cuts])
    """Of a judge, by stratum; where there are none, the commonest label holds."""
    votes: int = Field(default=1, ge=1, le=1000)
    """Verdicts to ask of a judge on each answer; no run takes more."""
    start: Learned
    """The program that the compile began with."""
    card: Card

    @model_validator(mode="after")
    def _has_its_own_card(self) -> Self:
        if self.role not in self.card.provenance.models:
            raise ValueError(f"card.provenance.models names no model of the {self.role}")
        if self.card.item_scores.votes != self.votes:
            raise ValueError(f"card.item_scores.votes are not the {self.votes} of the program")
        if self.card.unchanged != (Learned(states=self.states, cuts=self.cuts) == self.start):
            raise ValueError("card.unchanged does not say whether the program is `start`")
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest[:12]!r})"

    __str__ = __repr__

    @property
    def digest(self) -> str:
        """sha256 of what decides answers: not of the card."""
        decisive = self.model_dump(mode="json", exclude={"card", "start"})
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def demos(self) -> int:
        """The most worked examples that it shows at once."""
        return max((len(state.demos) for state in self.states.values()), default=0)

    def put_into(self, program: Module, path: str | Path) -> Module:
        """Load what predictors learned into an uncompiled program, and return it; `UsageError` if it does not fit."""
        if self.program != type(program).__name__:
            raise UsageError(f"{path}: a compiled {self.program}, where {type(program).__name__} is asked for")
        predictors = dict(program.named_predictors())
        if not self.states.keys() <= predictors.keys() or self.signature != signature_of(program, self.states):
            raise UsageError(
                f"{path}: compiled for other signatures (names, order, types or descriptions of their fields have "
                "changed since); compile it again"
            )
        if self.demos and (images := image_inputs(program)):
            raise UsageError(f"{path}: has demos of a program whose input {images[0]!r} is an image; files hold none")
        for name, state in self.states.items():
            _check_demos(state, _signature(predictors[name]), path)
            predictors[name].load_state(state.model_dump(mode="json"))
        module = cast("Any", program)
        module.card, module.learned_from = self.card, self.card.learned_from
        if self.role == "judge":
            module.votes = self.votes
            module.cuts = {stratum: (cut.partial, cut.full) for stratum, cut in self.cuts.items()}
        if hasattr(program, "compiled_as"):
            module.compiled_as(self.digest, self.card.learned_from)
        elif self.role == "judge" or not hasattr(program, "name"):
            module.name = f"compiled:{self.digest[:12]}"
        return program


class _ArtefactFile(Artefact):
    """The file of a compiled program."""

    checksum: str
    """Of everything else in it."""


_NUMBERS = re.compile(r"\[\n[^\[\]{}\"]*\]")
"""A list of numbers in indented JSON, in whose texts no line ends."""


def checksum_of(document: Mapping[str, Any]) -> str:
    """sha256 of everything in a file but its checksum, whatever its order and spacing."""
    content = {name: value for name, value in document.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_demos(state: PredictorState, declared: type[dspy.Signature], path: str | Path) -> None:
    for demo in state.demos:
        if strange := sorted(demo.keys() - _demo_fields(declared)):
            raise UsageError(f"{path}: a demo has a field that is not the program's: {strange[0]!r}")
        for name, field in declared.fields.items():
            if name not in demo:
                raise UsageError(f"{path}: a demo lacks the field {name!r}")
            try:
                TypeAdapter[Any](field.annotation or Any).validate_python(demo[name])
            except ValidationError as error:
                raise UsageError(f"{path}: {name!r} of a demo: {first_fault(error)}") from error


def states_of(program: dspy.Module) -> dict[str, PredictorState]:
    """What the predictors of a program learned, by their names; their demos cut to fields of the signatures."""
    states: dict[str, PredictorState] = {}
    for name, predictor in program.named_predictors():
        state, fields = predictor.dump_state(), _demo_fields(_signature(predictor))
        # DSPy's `instructions` are without indentation, and an empty docstring would come back as its default text.
        words = state["signature"] | {"instructions": predictor.signature.__doc__ or ""}
        demos = tuple({field: demo[field] for field in dict(demo) if field in fields} for demo in state["demos"])
        states[name] = PredictorState(demos=demos, signature=SignatureState.model_validate(words))
    return states


def _signature(predictor: dspy.Predict) -> type[dspy.Signature]:
    return cast("type[dspy.Signature]", predictor.signature)


def _demo_fields(declared: type[dspy.Signature]) -> frozenset[str]:
    return frozenset(declared.fields) | {"augmented", SYSTEM}


def signature_of(program: dspy.Module, names: Container[str]) -> str:
    """sha256 over the declared signatures of a program's predictors that have these names."""
    predictors = program.named_predictors()
    hashes = {name: signature_hash(_signature(predictor)) for name, predictor in predictors if name in names}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def write_artefact(path: Path, artefact: Artefact) -> None:
    """Write the file whole or not at all; raises `UsageError` when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    document = artefact.model_dump(mode="json")
    text = json.dumps({**document, "checksum": checksum_of(document)}, ensure_ascii=False, indent=1)
    write_file(path, _NUMBERS.sub(lambda numbers: " ".join(numbers[0].split()), text) + "\n")


def read_artefact(path: str | Path, role: ProgramRole | None = None) -> Artefact:
    """Read a file, or the one of the compile whose folder is given; `role` is what the program must have.

    Raises a `UsageError` where it is not there, not an artefact of this format, or of another role.
    """
    content = content_of(Path(path))
    if content.kind is Kind.COMPILE and content.inside:
        path = content.inside[0]
    elif content.kind not in (Kind.PROGRAM, Kind.FILE):
        problem = content.problem("the file of a compiled program, or the folder of its compile", Kind.COMPILES)
        raise UsageError(f"{path}: cannot be read: {problem}")
    content = _contents(Path(path))
    try:
        stored = _ArtefactFile.model_validate_json(content)
        require_finite(content)
    except ValidationError as error:
        if other := _OTHER_FORMAT.match(content):
            raise UsageError(
                f"{path}: a compiled program of format {other.group(1).decode()}, made by another version of "
                f"dspy-proact; this one reads format {FORMAT}. Compile it again, or use it with that version"
            ) from error
        raise UsageError(f"{path}: not a compiled program of ours: {first_fault(error)}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not a compiled program of ours: {error}") from error
    if stored.checksum != checksum_of(json.loads(content)):
        raise UsageError(
            f"{path}: was changed after its compile had written it: its checksum is that of other contents. Compile it "
            "again, or use an unchanged copy"
        )
    artefact = Artefact(**{name: getattr(stored, name) for name in Artefact.model_fields})
    if role not in (None, artefact.role):
        wanted, use = "a judge", "an assistant is used by `program`"
        if artefact.role == "judge":
            wanted, use = "an assistant", "judges are used by `judge_program`"
        raise UsageError(f"{path}: a compiled {artefact.role}, where {wanted} is asked for; {use}")
    return artefact


def _contents(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot be read: a pipe or a device; a program is read several times, so name a file")
    try:
        with open_to_read(path) as file:
            return read_contents(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_judge(path: str | Path) -> Artefact:
    """Read the file of a judge, as `read_artefact` does."""
    return read_artefact(path, "judge")


def signature_hash(signature: type[dspy.Signature]) -> str:
    """sha256 of names, order, roles, types and descriptions; not of the instruction, which compiling changes."""
    rows: list[list[Any]] = []
    for name, field in signature.fields.items():
        dspys: Any = field.json_schema_extra
        schema = _untitled(TypeAdapter[Any](field.annotation or Any).json_schema())
        rows.append([name, dspys["__dspy_field_type"], dspys["desc"], schema])
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _untitled(schema: Any) -> Any:
    """A schema without titles, which change from one pydantic to the next."""
    if isinstance(schema, dict):
        return {name: _untitled(inner) for name, inner in schema.items() if name != "title"}
    return [_untitled(inner) for inner in schema] if isinstance(schema, list) else schema
