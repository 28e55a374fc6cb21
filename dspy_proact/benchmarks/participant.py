from collections.abc import Mapping
from dataclasses import dataclass, field

from dspy_proact.calls import Price
from dspy_proact.models import Model, decoding
from dspy_proact.runs import RoleIdentity


@dataclass(frozen=True)
class Participant:
    """A model in its role of a run, and the program that speaks through it."""

    model: Model
    program: str
    """Its name."""
    prompt: str
    """sha256 of what it renders."""
    system_prompt: str | None = None
    """What the model is told beside the case; None for nothing."""
    learned_on: int = 0
    """Rows of the corpus that the program was compiled on."""
    card: str | None = None
    """What the card of a compiled program tells."""
    cuts: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Of a compiled judge, as `RoleIdentity` has them."""
    votes: int = 1
    """Verdicts that a judge's program asks of its model on each response."""
    further_prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Of other models that the program calls, by role."""

    @property
    def identity(self) -> RoleIdentity:
        """What decides its answers."""
        return RoleIdentity(
            model=self.model.name,
            program=self.program,
            prompt=self.prompt,
            decoding=dict(self.model.decoding),
            endpoint=self.model.endpoint,
            cuts=dict(self.cuts),
        )

    @property
    def price(self) -> Price:
        """Of its model."""
        return self.model.price

    @property
    def embedded(self) -> bool:
        """Whether its model is the stand-in that measures nothing."""
        return self.model.embedded

    @property
    def overridden(self) -> tuple[str, ...]:
        """Decoding parameters that are not the preset's."""
        preset = {} if self.embedded else decoding(self.model.name, self.model.role.writes)
        sent = self.model.decoding
        return tuple(
            sorted(name for name in preset.keys() | sent.keys() if preset.get(name, ...) != sent.get(name, ...))
        )
