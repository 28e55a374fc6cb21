"""A compiled program as one JSON file: what its predictors learned, how it is asked, and its card.

DSPy's own state is positional and sets whatever it finds as attributes, so it is read only through this envelope: a
strict model with exact keys, the hash of the declared signature, and no model bound to it. No pickle is read.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import dspy
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from dspy_proact.benchmarks.proactbench.programs.assistant import Assistant, AssistantCard, Reply
from dspy_proact.benchmarks.proactbench.programs.judge import GradeResponse, Judge, JudgeCard
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.errors import UsageError
from dspy_proact.kept import Kind, first_fault, place_of, require_finite, write_whole
from dspy_proact.programs.agent_card import AgentCard
from dspy_proact.types import Frozen

FORMAT = 1
_OTHER_FORMAT = re.compile(rb'\s*\{\s*"format"\s*:\s*(?!%d\b)(\d+)' % FORMAT)


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
    """From where on the mean level of several verdicts (FAIL 0, PARTIAL 1, PASS 2) is PARTIAL, and PASS."""

    partial: float = Field(ge=0, le=2)
    full: float = Field(ge=0, le=2)

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.partial < self.full:
            raise ValueError(f"the cut of PASS, {self.full:g}, does not lie above that of PARTIAL, {self.partial:g}")
        return self


class Filed(Frozen):
    """What every artefact holds."""

    format: Literal[1] = FORMAT
    signature: str
    """sha256 of the declared signature, or of several: names, order, types and descriptions."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest[:12]!r})"

    def __str__(self) -> str:
        return repr(self)

    @property
    def digest(self) -> str:
        """sha256 of what decides answers: not of the card."""
        decisive = self.model_dump(mode="json", exclude={"card"})
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class Envelope(Filed):
    """An artefact of a program with one predictor."""

    declares: ClassVar[type[dspy.Signature]]
    """The signature of its program."""
    state: PredictorState

    @model_validator(mode="after")
    def _demos_are_plain(self) -> Self:
        if self.signature != signature_hash(self.declares):
            return self  # another signature's, which is refused as a whole where it is read
        for demo in self.state.demos:
            if strange := sorted(demo.keys() - _demo_fields(self.declares)):
                raise ValueError(f"a demo has a field that is not the program's: {strange[0]!r}")
            for name, field in self.declares.fields.items():
                if name not in demo:
                    raise ValueError(f"a demo lacks the field {name!r}")
                try:
                    TypeAdapter[Any](field.annotation or Any).validate_python(demo[name])
                except ValidationError as error:  # alone it would be told as if it stood at the top of the file
                    raise ValueError(f"{name!r} of a demo: {first_fault(error)}") from error
        return self


class JudgeArtefact(Envelope):
    """The file of a compiled judge."""

    declares = GradeResponse
    program: Literal["judge"] = "judge"
    votes: int = Field(ge=1)
    """Verdicts to ask for on each response."""
    cuts: dict[Phase, Cuts] = Field(default_factory=dict[Phase, Cuts])
    """By phase; where there are none, the commonest grade holds."""
    card: JudgeCard


class AssistantArtefact(Envelope):
    """The file of a compiled assistant."""

    declares = Reply
    program: Literal["assistant"] = "assistant"
    card: AssistantCard


class SeveralArtefact(Filed):
    """An artefact of a program with several predictors, whose signatures its benchmark knows."""

    benchmark: str
    states: dict[str, PredictorState]
    """By predictor."""
    card: AgentCard


class AgentArtefact(SeveralArtefact):
    """The file of a compiled agent."""

    program: Literal["agent"] = "agent"
    agent: str
    """By which it is chosen."""


class JudgesArtefact(SeveralArtefact):
    """The file of compiled judges that grade an answer together."""

    program: Literal["judges"] = "judges"


Artefact = JudgeArtefact | AssistantArtefact | AgentArtefact | JudgesArtefact
A = TypeVar("A", JudgeArtefact, AssistantArtefact, AgentArtefact, JudgesArtefact)
_USED = {
    "judge": "judges are used by --judge-program",
    "assistant": "an assistant is used by --program",
    "agent": "an agent is used by --program on its own benchmark",
    "judges": "judges are used by --judge-program on their own benchmark",
}
_FILE = TypeAdapter[Artefact](Annotated[Artefact, Field(discriminator="program")])


def predictor_state(predictor: dspy.Predict, declared: type[dspy.Signature]) -> PredictorState:
    """What a predictor learned, its demos cut to fields of the signature."""
    state, fields = predictor.dump_state(), _demo_fields(declared)
    words = state["signature"] | {"instructions": predictor.signature.__doc__ or ""}  # DSPy's are without indentation
    demos = [{name: value for name, value in dict(demo).items() if name in fields} for demo in state["demos"]]
    return PredictorState(demos=tuple(demos), signature=SignatureState.model_validate(words))


def _demo_fields(declared: type[dspy.Signature]) -> frozenset[str]:
    return frozenset(declared.fields) | {"augmented"}


def write_artefact(path: Path, artefact: Artefact) -> None:
    """Write the file whole or not at all; raises `UsageError` when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    write_whole(path, artefact.model_dump_json(indent=1) + "\n")


def read_artefact(path: str | Path) -> Artefact:
    """Read a file, or the one of the compile whose folder is given.

    Raises:
        UsageError: It is not there, not an artefact of this format, or of another signature.
    """
    path = _file_of(Path(path))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        artefact = _FILE.validate_json(content)
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
    if not isinstance(artefact, SeveralArtefact) and artefact.signature != signature_hash(artefact.declares):
        raise UsageError(
            f"{path}: compiled for another signature of the {artefact.program} (names, order, types or descriptions "
            "of its fields have changed since); compile it again"
        )
    return artefact


def _file_of(path: Path) -> Path:
    """The file that is meant by a path; raises `UsageError` where that is none, with what it is."""
    place = place_of(path)
    if place.kind is Kind.COMPILE and place.inside:
        return place.inside[0]
    if place.kind in (Kind.PROGRAM, Kind.FILE):
        return path
    told = place.problem("the file of a compiled program, or the folder of its compile", Kind.COMPILES)
    raise UsageError(f"{path}: cannot be read: {told}")


def read_judge(path: str | Path) -> JudgeArtefact:
    """Read the file of a judge; raises `UsageError` as `read_artefact` does, and where it is another program's."""
    return _read(path, JudgeArtefact, "a judge")


def read_assistant(path: str | Path) -> AssistantArtefact:
    """Read the file of an assistant; raises `UsageError` as `read_artefact` does, and where it is another program's."""
    return _read(path, AssistantArtefact, "an assistant")


def read_agent(path: str | Path) -> AgentArtefact:
    """Read the file of an agent; raises `UsageError` likewise. Whoever knows its signatures checks them."""
    return _read(path, AgentArtefact, "an agent")


def read_judges(path: str | Path) -> JudgesArtefact:
    """Read the file of judges that grade together; as `read_agent` does."""
    return _read(path, JudgesArtefact, "a pair of judges")


def _read(path: str | Path, form: type[A], wanted: str) -> A:
    artefact = read_artefact(path)
    if not isinstance(artefact, form):
        used = _USED[artefact.program]
        article = "" if artefact.program == "judges" else "a "
        raise UsageError(f"{path}: {article}compiled {artefact.program}, where {wanted} is asked for; {used}")
    return artefact


def load_assistant(path: str | Path) -> Assistant:
    """The assistant in a file, ready for any `dspy.LM`; raises `UsageError` as `read_assistant` does."""
    return compiled_assistant(read_assistant(path))


def load_judge(path: str | Path) -> Judge:
    """The judge in a file, ready for any `dspy.LM`; raises `UsageError` as `read_judge` does.

    It gives one verdict at a time. How many to ask for, and how they are read together, say `votes` and `cuts` of
    `read_judge`, which an `Evaluation` goes by.
    """
    return compiled_judge(read_judge(path))


def compiled_judge(artefact: JudgeArtefact, ask_quote_again: bool = True) -> Judge:
    """The judge of an artefact."""
    judge = Judge(ask_quote_again)
    judge.grade.load_state(artefact.state.model_dump(mode="json"))
    judge.name, judge.votes, judge.card = f"compiled:{artefact.digest[:12]}", artefact.votes, artefact.card
    judge.cuts = {phase: (cut.partial, cut.full) for phase, cut in artefact.cuts.items()}
    return judge


def compiled_assistant(artefact: AssistantArtefact) -> Assistant:
    """The assistant of an artefact."""
    assistant = Assistant()
    assistant.reply.load_state(artefact.state.model_dump(mode="json"))
    assistant.card = artefact.card
    return assistant.compiled_as(artefact.digest, artefact.card.learned_from)


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
