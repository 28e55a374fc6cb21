"""Models that grade, as a person names them."""

from collections.abc import Sequence

from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec, Role, open_model


def open_judges(named: ModelSpec | str | Sequence[ModelSpec | str], role: Role, gate: Gate) -> list[Model]:
    """Make one judge or several callable, by their names; the order in which they are named says nothing.

    Raises:
        UsageError: None is named, or one twice; a model cannot be called as asked.
    """
    each = [named] if isinstance(named, ModelSpec | str) else named
    specs = sorted(map(ModelSpec.of, each), key=lambda spec: spec.name)
    if len({spec.name for spec in specs}) < len(specs) or not specs:
        raise UsageError("name each judge once; --votes N has each of them grade a response N times")
    return [open_model(spec, role, gate) for spec in specs]
