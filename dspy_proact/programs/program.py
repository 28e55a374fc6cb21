"""Programs of ours: DSPy modules that ask a model by a given way to ask, such as one of a single typed question."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

import dspy

from dspy_proact.plain_text import html_table
from dspy_proact.programs.asking import Asking, ask, ask_for_fields, ask_now, rendered, run_now
from dspy_proact.programs.fenced_json import FencedJSON


class Program(dspy.Module):
    """A program of one or several questions; it is called with its inputs by name, as any module of DSPy."""

    name = "default"
    """By which runs and people know it."""
    card: Any = None
    """What its compile showed; None where it is not compiled."""

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - as if DSPy's had said more
        return f"{type(self).__name__}({self.name!r}, demos={self.demos})"

    def _repr_html_(self) -> str:
        rows = [
            (type(self).__name__, self.name),
            ("instruction", self.instruction or "none"),
            ("demos", str(self.demos)),
        ]
        return html_table((), rows)

    async def answer_by(self, asking: Asking, *_: Any, **inputs: Any) -> dspy.Prediction:
        """A prediction, by a given way to ask; raises a `StageError` where there is none."""
        raise NotImplementedError

    def wording(self, note: str = "") -> dspy.Adapter:
        """The adapter under each of its questions; one that ends with a note is a repair."""
        raise NotImplementedError

    def first(self, inputs: Mapping[str, Any]) -> dspy.Predict:
        """The predictor that is asked first about these inputs."""
        del inputs
        return self.predictors()[0]

    @property
    def demos(self) -> int:
        """The most worked examples that it shows at once."""
        return max((len(predictor.demos) for predictor in self.predictors()), default=0)

    @property
    def instruction(self) -> str:
        """What the model is told in its first question."""
        return cast("type[dspy.Signature]", self.predictors()[0].signature).instructions

    def messages(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The first request about these inputs."""
        return rendered(self.first(inputs), self.wording(), inputs)

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what it says to its model."""
        texts: list[Any] = []
        for name, predictor in self.named_predictors():
            signature = cast("type[dspy.Signature]", predictor.signature)
            # Requests with names in place of inputs do not show what is in a nested model; a schema does.
            request = rendered(predictor, self.wording(), {field: f"{{{field}}}" for field in signature.input_fields})
            schema = signature.model_json_schema()
            # Without its title, which changes with instructions.
            texts.append([name, request, schema["properties"], schema.get("$defs")])
        return hashlib.sha256(json.dumps(texts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The prediction; raises likewise."""
        return run_now(self.answer_by(ask_now, **inputs))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Async version of `forward`."""
        return await self.answer_by(ask, **inputs)


class Question(Program):
    """Asks for the outputs of a signature; an answer that cannot be read is asked for once more.

    Args:
        signature: What the model is asked.
        fenced: Names of inputs that are text of others, which is quoted line by line.
    """

    adapter: type[FencedJSON] = FencedJSON
    """Another one may read answers more strictly."""

    def __init__(self, signature: type[dspy.Signature], *fenced: str):
        super().__init__()
        self.question = dspy.Predict(signature)
        self._fenced = fenced

    async def answer_by(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        """A prediction with the outputs of the signature; raises a `StageError` where there is none."""
        return await ask_for_fields(asking, self.question, self.wording, **inputs)

    def wording(self, note: str = "") -> FencedJSON:
        """The adapter under its question, which quotes the texts of others."""
        return self.adapter(*self._fenced, note=note)
