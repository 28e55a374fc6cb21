"""Who grades: one judge or several, each with its model, its prompt and its price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dspy_proact.benchmarks.proactbench import Seat
from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec, decoding, open_model
from dspy_proact.programs import JUDGE, Judge, JudgeArtefact, OfficialJudge, compiled_judge
from dspy_proact.runs import RoleIdentity

JudgePrompt = Literal["default", "official"]


@dataclass(frozen=True)
class Jury:
    """Judges with one program and a model each."""

    program: Judge
    models: Sequence[Model]
    artefact: JudgeArtefact | None = None
    """Of a compiled program."""

    @property
    def votes(self) -> int:
        """Verdicts that the program asks of each judge."""
        return self.artefact.votes if self.artefact else 1

    @property
    def seats(self) -> dict[str, Seat]:
        """By the name under which verdicts are kept."""
        return {model.name: Seat(self.program, model.lm) for model in self.models}

    @property
    def identities(self) -> tuple[RoleIdentity, ...]:
        """What decides their verdicts."""
        prompt, cuts = self.program.fingerprint(), _cuts(self.artefact)
        identities = (role_identity(model, self.program.name, prompt) for model in self.models)
        return tuple(identity.model_copy(update={"cuts": cuts}) for identity in identities)

    @property
    def overridden(self) -> tuple[str, ...]:
        """Decoding parameters that are not the preset's, of any of them."""
        return tuple(sorted({name for model in self.models for name in overridden(model)}))

    @property
    def prices(self) -> dict[str, Price]:
        """By model."""
        return {model.name: model.price for model in self.models}


def open_jury(
    judge: ModelSpec | str | Sequence[ModelSpec | str],
    gate: Gate,
    *,
    prompt: JudgePrompt = "default",
    artefact: JudgeArtefact | None = None,
) -> Jury:
    """Make judges callable; the program holds for each of them. Their order says nothing.

    Raises:
        UsageError: None is named, or one twice; the prompt is not to be had; a model cannot be called as asked.
    """
    named = [judge] if isinstance(judge, ModelSpec | str) else judge
    specs = sorted(map(ModelSpec.of, named), key=lambda spec: spec.name)
    if len({spec.name for spec in specs}) < len(specs) or not specs:
        raise UsageError("name each judge once; --judge-epochs N has each of them grade a response N times")
    models = [open_model(spec, JUDGE, gate) for spec in specs]
    if prompt == "official" and any(model.embedded for model in models):
        raise UsageError("--judge-prompt official: the embedded stand-in reads our prompt only; name a --judge")
    if artefact and prompt != "default":
        raise UsageError("--judge-program has words of its own; leave --judge-prompt out")
    program = compiled_judge(artefact) if artefact else OfficialJudge() if prompt == "official" else Judge()
    return Jury(program, models, artefact)


def role_identity(model: Model, program: str, prompt: str) -> RoleIdentity:
    """What decides the answers of a model under a program."""
    decoding = dict(model.decoding)
    return RoleIdentity(model=model.name, program=program, prompt=prompt, decoding=decoding, endpoint=model.endpoint)


def overridden(model: Model) -> tuple[str, ...]:
    """Decoding parameters of a model that are not its preset's."""
    preset = {} if model.embedded else decoding(model.name, model.role.writes)
    names = preset.keys() | model.decoding.keys()
    return tuple(sorted(name for name in names if preset.get(name, ...) != model.decoding.get(name, ...)))


def _cuts(artefact: JudgeArtefact | None) -> dict[str, tuple[float, float]]:
    """The cuts of a compiled judge, by phase."""
    return {str(phase): (cut.partial, cut.full) for phase, cut in artefact.cuts.items()} if artefact else {}
