"""A compiled program as one JSON file: what its predictors learned, how it is asked, and its card.

DSPy's own state is positional and sets whatever it finds as attributes, so it is read only through this envelope: a
strict model with exact keys, the hash of the declared signature, and no model bound to it. No pickle is read.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, Self

import dspy
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from dspy_proact.errors import UsageError
from dspy_proact.programs.card import Card
from dspy_proact.programs.judge import GradeResponse, Judge
from dspy_proact.types import Frozen, Phase

FORMAT = 1
_DEMO_FIELDS = frozenset(GradeResponse.fields) | {"augmented"}


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

    @model_validator(mode="after")
    def _demos_are_plain(self) -> Self:
        for demo in self.demos:
            if strange := sorted(demo.keys() - _DEMO_FIELDS):
                raise ValueError(f"a demo has a field that is not the judge's: {strange[0]!r}")
        return self


class Cuts(Frozen):
    """From where on the mean level of several verdicts (FAIL 0, PARTIAL 1, PASS 2) is PARTIAL, and PASS."""

    partial: float = Field(ge=0, le=2)
    full: float = Field(ge=0, le=2)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.partial < self.full:
            raise ValueError(f"the cut of PASS, {self.full:g}, does not lie above that of PARTIAL, {self.partial:g}")
        return self


class Artefact(Frozen):
    """The file."""

    format: Literal[1] = FORMAT
    program: Literal["judge"]
    signature: str
    """sha256 of the declared signature: names, order, types and descriptions."""
    state: PredictorState
    votes: int = Field(ge=1)
    """Verdicts to ask for on each response."""
    cuts: dict[Phase, Cuts] = Field(default_factory=dict[Phase, Cuts])
    """By phase; where there are none, the commonest grade holds."""
    card: Card

    @property
    def digest(self) -> str:
        """sha256 of what decides verdicts: not of the card."""
        decisive = self.model_dump(mode="json", exclude={"card"})
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def judge_state(judge: Judge) -> PredictorState:
    """What a compiled judge learned, its demos cut to fields of the signature."""
    state = judge.grade.dump_state()
    demos = [{name: value for name, value in dict(demo).items() if name in _DEMO_FIELDS} for demo in state["demos"]]
    return PredictorState(demos=tuple(demos), signature=SignatureState.model_validate(state["signature"]))


def write_artefact(path: Path, artefact: Artefact) -> None:
    """Write the file whole or not at all; raises `UsageError` when it cannot be written."""
    temporary = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(artefact.model_dump_json(indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_artefact(path: Path) -> Artefact:
    """Read a file.

    Raises:
        UsageError: It is not there, not an artefact of this format, or of another signature.
    """
    try:
        artefact = Artefact.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise UsageError(f"{path}: not a compiled program of ours: {where or 'the file'}: {fault['msg']}") from error
    if artefact.signature != signature_hash(GradeResponse):
        raise UsageError(
            f"{path}: compiled for another signature of the judge (names, order, types or descriptions of its fields "
            "have changed since); compile it again"
        )
    return artefact


def compiled_judge(artefact: Artefact, ask_quote_again: bool = True) -> Judge:
    """The judge of an artefact."""
    judge = Judge(ask_quote_again)
    judge.grade.load_state(artefact.state.model_dump(mode="json"))
    judge.name = f"compiled:{artefact.digest[:12]}"
    return judge


def signature_hash(signature: type[dspy.Signature]) -> str:
    """sha256 of names, order, roles, types and descriptions; not of the instruction, which compiling changes."""
    rows = [
        [
            name,
            field.json_schema_extra["__dspy_field_type"],  # pyright: ignore[reportOptionalSubscript, reportIndexIssue]
            field.json_schema_extra["desc"],  # pyright: ignore[reportOptionalSubscript, reportIndexIssue]
            _untitled(TypeAdapter[Any](field.annotation or Any).json_schema()),
        ]
        for name, field in signature.fields.items()
    ]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _untitled(schema: Any) -> Any:
    """A schema without titles, which change from one pydantic to the next."""
    if isinstance(schema, dict):
        return {name: _untitled(inner) for name, inner in schema.items() if name != "title"}
    return [_untitled(inner) for inner in schema] if isinstance(schema, list) else schema
