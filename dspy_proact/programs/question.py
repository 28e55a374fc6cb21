"""A module of one typed question, in which what others wrote cannot pass for a part of the question."""

from typing import Any

import dspy

from dspy_proact.programs.asking import Asking, ask, ask_for_fields, ask_now, fingerprint, rendered, run_now
from dspy_proact.programs.fenced_json import FencedJSON


class Answering(dspy.Module):
    """A program of one or several questions."""

    card: Any = None
    """What its compile showed; None where it is not compiled."""

    async def answer_by(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        """A prediction, by a given way to ask; raises a `StageError` where there is none."""
        raise NotImplementedError

    def adapter(self, note: str = "") -> FencedJSON:
        """The adapter under each of its questions; one that ends with a note is a repair."""
        raise NotImplementedError

    @property
    def instruction(self) -> str:
        """What the model is told in its first question."""
        signature: Any = self.predictors()[0].signature
        return signature.instructions

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what it says to its model."""
        return fingerprint(self, lambda _: self.adapter())

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The prediction; raises likewise."""
        return run_now(self.answer_by(ask_now, **inputs))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Async version of `forward`."""
        return await self.answer_by(ask, **inputs)


class Question(Answering):
    """Asks for the outputs of a signature; an answer that cannot be read is asked for once more.

    Args:
        signature: What the model is asked.
        fenced: Names of inputs that are text of others, which is quoted line by line.
    """

    adapted: type[FencedJSON] = FencedJSON
    """The adapter; another one may read answers more strictly."""
    name = "default"

    def __init__(self, signature: type[dspy.Signature], *fenced: str):
        super().__init__()
        self.question = dspy.Predict(signature)
        self._fenced = fenced

    async def answer_by(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        """A prediction with the outputs of the signature; raises a `StageError` where there is none."""
        return await ask_for_fields(asking, self.question, self.adapter, **inputs)

    def messages(self, inputs: dict[str, Any]) -> list[dict[str, Any]]:
        """The first request about these inputs."""
        return rendered(self.question, self.adapter(), inputs)

    def adapter(self, note: str = "") -> FencedJSON:
        """The adapter under its question, which quotes the texts of others."""
        return self.adapted(*self._fenced, note=note)
